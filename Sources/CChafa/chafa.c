#include "CChafa.h"

#include <dlfcn.h>

enum { HALF_BLOCKS = 1 << 9, SPACE = 1 << 0 };
enum { SYMBOLS = 0, SIXELS = 1 };
enum { RGBA_UNASSOCIATED = 4 };
enum { SIXEL_HEIGHT = 6 };

struct string {
  char *bytes;
  size_t count, capacity;
};

// Objects of the library are seen through pointers only.
static struct {
  void *(*config_new)(void);
  void (*config_unref)(void *config);
  void (*config_set_geometry)(void *config, int columns, int rows);
  void (*config_set_cell_geometry)(void *config, int width, int height);
  void (*config_set_canvas_mode)(void *config, int mode);
  void (*config_set_pixel_mode)(void *config, int mode);
  void (*config_set_symbol_map)(void *config, const void *map);
  void *(*symbols_new)(void);
  void (*symbols_add)(void *map, int tags);
  void (*symbols_unref)(void *map);
  void *(*canvas_new)(const void *config);
  void (*canvas_unref)(void *canvas);
  void (*canvas_draw)(
      void *canvas, int type, const uint8_t *pixels, int width, int height, int stride);
  struct string *(*canvas_print)(void *canvas, void *terminal);
  void *(*terminals)(void);
  void *(*ordinary_terminal)(void *terminals);
  void (*terminal_unref)(void *terminal);
  char *(*string_free)(struct string *string, int with_bytes);
} chafa;

static const struct {
  void **place;
  const char *name;
} functions[] = {
    {(void **)&chafa.config_new, "chafa_canvas_config_new"},
    {(void **)&chafa.config_unref, "chafa_canvas_config_unref"},
    {(void **)&chafa.config_set_geometry, "chafa_canvas_config_set_geometry"},
    {(void **)&chafa.config_set_cell_geometry, "chafa_canvas_config_set_cell_geometry"},
    {(void **)&chafa.config_set_canvas_mode, "chafa_canvas_config_set_canvas_mode"},
    {(void **)&chafa.config_set_pixel_mode, "chafa_canvas_config_set_pixel_mode"},
    {(void **)&chafa.config_set_symbol_map, "chafa_canvas_config_set_symbol_map"},
    {(void **)&chafa.symbols_new, "chafa_symbol_map_new"},
    {(void **)&chafa.symbols_add, "chafa_symbol_map_add_by_tags"},
    {(void **)&chafa.symbols_unref, "chafa_symbol_map_unref"},
    {(void **)&chafa.canvas_new, "chafa_canvas_new"},
    {(void **)&chafa.canvas_unref, "chafa_canvas_unref"},
    {(void **)&chafa.canvas_draw, "chafa_canvas_draw_all_pixels"},
    {(void **)&chafa.canvas_print, "chafa_canvas_print"},
    {(void **)&chafa.terminals, "chafa_term_db_get_default"},
    {(void **)&chafa.ordinary_terminal, "chafa_term_db_get_fallback_info"},
    {(void **)&chafa.terminal_unref, "chafa_term_info_unref"},
    // GLib is among the libraries that libchafa brings along.
    {(void **)&chafa.string_free, "g_string_free"},
};

int imgctl_open_chafa(void) {
  static void *library;
  if (library) return 1;
  void *opened = dlopen("libchafa.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!opened) return 0;
  for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
    void *function = dlsym(opened, functions[index].name);
    if (!function) {
      dlclose(opened);
      return 0;
    }
    *functions[index].place = function;
  }
  library = opened;
  return 1;
}

// The text of a canvas with this configuration, which is given up.
static struct imgctl_text draw(struct imgctl_picture picture, void *config) {
  void *canvas = chafa.canvas_new(config);
  chafa.config_unref(config);
  chafa.canvas_draw(
      canvas, RGBA_UNASSOCIATED, picture.pixels, picture.width, picture.height, picture.stride);
  void *terminal = chafa.ordinary_terminal(chafa.terminals());
  struct string *text = chafa.canvas_print(canvas, terminal);
  chafa.terminal_unref(terminal);
  chafa.canvas_unref(canvas);
  return (struct imgctl_text){text->bytes, text->count, text};
}

struct imgctl_text imgctl_half_blocks(
    struct imgctl_picture picture, int columns, int rows, enum imgctl_colours colours) {
  void *config = chafa.config_new();
  chafa.config_set_geometry(config, columns, rows);
  chafa.config_set_pixel_mode(config, SYMBOLS);
  chafa.config_set_canvas_mode(config, colours);
  void *symbols = chafa.symbols_new();
  chafa.symbols_add(symbols, HALF_BLOCKS | SPACE);
  chafa.config_set_symbol_map(config, symbols);
  chafa.symbols_unref(symbols);
  return draw(picture, config);
}

struct imgctl_text imgctl_sixels(struct imgctl_picture picture) {
  void *config = chafa.config_new();
  // One cell of the picture's size: the library draws whole cells only.
  int height = picture.height < SIXEL_HEIGHT ? SIXEL_HEIGHT : picture.height;
  chafa.config_set_geometry(config, 1, 1);
  chafa.config_set_cell_geometry(config, picture.width, height);
  chafa.config_set_pixel_mode(config, SIXELS);
  return draw(picture, config);
}

void imgctl_free_text(struct imgctl_text text) { chafa.string_free(text.owner, 1); }
