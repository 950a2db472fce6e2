// Drawings, through librsvg, on which libvips depends as well. Its own loader knows one scale for both sides, and
// draws the whole of a drawing; here a part of it is drawn at any size.
#ifndef IMGD_CRSVG_H
#define IMGD_CRSVG_H

#include <cairo.h>
#include <glib-object.h>
#include <stdint.h>

// As librsvg/rsvg.h has it. That header brings those of gdk-pixbuf, whose flags Swift's package manager refuses.
typedef struct _RsvgHandle RsvgHandle;
typedef struct { double x, y, width, height; } RsvgRectangle;
RsvgHandle *rsvg_handle_new_from_data(const uint8_t *bytes, size_t count, GError **error);
gboolean rsvg_handle_set_stylesheet(RsvgHandle *handle, const uint8_t *css, size_t count, GError **error);
void rsvg_handle_set_dpi(RsvgHandle *handle, double dpi);
gboolean rsvg_handle_render_document(
    RsvgHandle *handle, cairo_t *cr, const RsvgRectangle *viewport, GError **error);

// Text needs fonts, which are files. Without them the library would draw a box for each letter.
#define CRSVG_STYLE "text { display: none !important }"

// What becomes of a drawing.
typedef enum { CRSVG_DRAWN, CRSVG_DAMAGED, CRSVG_NO_MEMORY } crsvg_result;

// A part of a drawing that is `width` by `height` large.
typedef struct {
  double width, height;
  double left, top, part_width, part_height;
} crsvg_part;

// Draws a part into `across` by `down` pixels of RGBA without gaps. Nothing that the drawing refers to is opened but
// what is inside it, since its bytes have no address, and the limits of the libraries hold, which only flags lift.
static inline crsvg_result crsvg_draw(
    const uint8_t *bytes, size_t count, crsvg_part part, uint8_t *pixels, int across, int down, char reason[200]) {
  GError *error = NULL;
  RsvgHandle *drawing = rsvg_handle_new_from_data(bytes, count, &error);
  crsvg_result result = CRSVG_DAMAGED;
  if (drawing) {
    rsvg_handle_set_stylesheet(drawing, (const uint8_t *)CRSVG_STYLE, sizeof CRSVG_STYLE - 1, NULL);
    rsvg_handle_set_dpi(drawing, 96);
    cairo_surface_t *surface =
        cairo_image_surface_create_for_data(pixels, CAIRO_FORMAT_ARGB32, across, down, 4 * across);
    cairo_t *pen = cairo_create(surface);
    cairo_scale(pen, across / part.part_width, down / part.part_height);
    cairo_translate(pen, -part.left, -part.top);
    RsvgRectangle whole = {0, 0, part.width, part.height};
    int drawn = rsvg_handle_render_document(drawing, pen, &whole, &error);
    if (drawn && cairo_status(pen) == CAIRO_STATUS_SUCCESS) result = CRSVG_DRAWN;
    if (cairo_status(pen) == CAIRO_STATUS_NO_MEMORY) result = CRSVG_NO_MEMORY;
    if (result != CRSVG_DRAWN) g_strlcpy(reason, cairo_status_to_string(cairo_status(pen)), 200);
    cairo_destroy(pen);
    cairo_surface_finish(surface);
    cairo_surface_destroy(surface);
    g_object_unref(drawing);
  }
  if (error) g_strlcpy(reason, error->message, 200);
  g_clear_error(&error);
  if (result != CRSVG_DRAWN) return result;
  // From words with the alpha multiplied in to bytes without.
  for (size_t place = 0; place < (size_t)across * down; place++) {
    uint8_t *pixel = pixels + 4 * place;
    uint32_t word = *(uint32_t *)pixel, alpha = word >> 24;
    for (int channel = 0; channel < 3; channel++) {
      uint32_t value = word >> (16 - 8 * channel) & 255;
      pixel[channel] = alpha == 0 ? 0 : value >= alpha ? 255 : (value * 255 + alpha / 2) / alpha;
    }
    pixel[3] = alpha;
  }
  return result;
}

#endif
