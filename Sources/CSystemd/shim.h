// libsystemd: notification, passed descriptors, the watchdog's interval, the journal.
#ifndef IMGD_CSYSTEMD_SHIM_H
#define IMGD_CSYSTEMD_SHIM_H

// Or sd_journal_sendv is a macro that adds the C file and line, which are not those of the caller.
#define SD_JOURNAL_SUPPRESS_LOCATION

#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

#endif
