// Latencies in buckets that are 1/32 of their power of two wide: 3 % exact from nanoseconds to hours.
#ifndef IMGD_CBENCH_HISTOGRAM_H
#define IMGD_CBENCH_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_STEPS = 32, HISTOGRAM_BUCKETS = 60 * HISTOGRAM_STEPS };

struct histogram {
  uint64_t total, max;
  uint64_t count[HISTOGRAM_BUCKETS];
};

static inline int histogram_bucket(uint64_t value) {
  if (value < HISTOGRAM_STEPS) return (int)value;
  int shift = 58 - __builtin_clzll(value);
  return (shift + 1) * HISTOGRAM_STEPS + (int)(value >> shift) - HISTOGRAM_STEPS;
}

// The middle of a bucket.
static inline uint64_t histogram_value(int bucket) {
  if (bucket < HISTOGRAM_STEPS) return (uint64_t)bucket;
  int shift = bucket / HISTOGRAM_STEPS - 1;
  uint64_t low = (uint64_t)(bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS) << shift;
  return low + ((1ull << shift) >> 1);
}

static inline void histogram_add(struct histogram *histogram, uint64_t value) {
  histogram->count[histogram_bucket(value)]++;
  histogram->total++;
  if (value > histogram->max) histogram->max = value;
}

static inline uint64_t histogram_percentile(const struct histogram *histogram, double percent) {
  uint64_t wanted = (uint64_t)((double)histogram->total * percent / 100), seen = 0;
  for (int bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
    seen += histogram->count[bucket];
    if (seen > wanted) return histogram_value(bucket);
  }
  return histogram->max;
}

#endif
