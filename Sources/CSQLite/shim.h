// SQLite, with what Swift cannot import: a variadic call, and the macro that means "copy it".
#ifndef IMGD_CSQLITE_SHIM_H
#define IMGD_CSQLITE_SHIM_H

#include <sqlite3.h>

static inline int sqlite_set_flag(sqlite3 *database, int flag, int value) {
  return sqlite3_db_config(database, flag, value, (int *)0);
}

// No bytes are an empty text, even at no address: that alone would mean NULL.
static inline int sqlite_bind_text(
    sqlite3_stmt *statement, int place, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_text64(
      statement, place, count ? (const char *)bytes : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int sqlite_bind_blob(
    sqlite3_stmt *statement, int place, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_blob64(statement, place, count ? bytes : "", count, SQLITE_TRANSIENT);
}

// What was committed to the log reaches the disk. SQLite itself does that when it begins the log anew.
static inline int sqlite_sync_log(sqlite3 *database) {
  sqlite3_file *log = 0;
  int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (code != SQLITE_OK || !log || !log->pMethods) return code;
  return log->pMethods->xSync(log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
}

#endif
