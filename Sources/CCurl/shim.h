// libcurl, with its variadic calls given one typed name for each kind of argument.
#ifndef IMGD_CCURL_SHIM_H
#define IMGD_CCURL_SHIM_H

#include <curl/curl.h>

typedef size_t (*curl_receive_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode curl_easy_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_easy_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_easy_set_context(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_easy_set_errors(CURL *easy, char *room) {
  return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, room);
}

static inline CURLcode curl_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *list) {
  return curl_easy_setopt(easy, option, list);
}

static inline void curl_easy_on_head(CURL *easy, curl_receive_callback callback) {
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
}

static inline void curl_easy_on_body(CURL *easy, curl_receive_callback callback) {
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
}

static inline void curl_easy_on_open(CURL *easy, curl_opensocket_callback callback) {
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline void curl_easy_on_close(CURL *easy, curl_closesocket_callback callback) {
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline void curl_easy_on_request(CURL *easy, curl_prereq_callback callback) {
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

static inline void curl_easy_on_resolve(CURL *easy, curl_resolver_start_callback callback) {
  curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, callback);
}

static inline void curl_easy_on_tls(CURL *easy, curl_ssl_ctx_callback callback) {
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
}

static inline curl_off_t curl_easy_expected_length(CURL *easy) {
  curl_off_t length = -1;
  curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  return length;
}

static inline void *curl_easy_private(CURL *easy) {
  char *context = NULL;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context);
  return context;
}

static inline CURLMcode curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline void curl_multi_on_socket(CURLM *multi, curl_socket_callback callback, void *context) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

static inline void curl_multi_on_timer(CURLM *multi, curl_multi_timer_callback callback, void *context) {
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/* The next finished transfer, or NULL; the message itself holds a union that Swift cannot read. */
static inline CURL *curl_multi_next_finished(CURLM *multi, CURLcode *result) {
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left)))
    if (message->msg == CURLMSG_DONE) {
      *result = message->data.result;
      return message->easy_handle;
    }
  return NULL;
}

#endif
