package main

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/smallfile"
	"ulnet/cmd/internal/stateversion"
)

// TestStateErrors: an error of the state directory says what to do. Its exit code lets the service manager
// start the daemon again (exit code 1), unless the next start would have the same error.
func TestStateErrors(t *testing.T) {
	for code, errs := range map[int][]error{
		cli.Config: {
			stateversion.ErrVersion, smallfile.ErrNotRegular, syscall.ENOTDIR, syscall.EACCES, syscall.EPERM, syscall.ELOOP, syscall.EISDIR, syscall.ENAMETOOLONG,
		},
		cli.Failed: {
			syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ENOMEM, syscall.ENOSPC, syscall.EROFS, syscall.ESTALE, fs.ErrInvalid,
		},
	} {
		for _, cause := range errs {
			err := stateError(fmt.Errorf("migration: %w", &fs.PathError{Op: "open", Path: "state/version", Err: cause}))
			if got := cli.ExitCode(err); got != code || !strings.Contains(err.Error(), "state/version") {
				t.Errorf("%v: exit code %d, want %d: %v", cause, got, code, err)
			}
			newer, retry := strings.Contains(cli.HintOf(err), "newer lnetd"), strings.Contains(cli.HintOf(err), "start lnetd again")
			if newer != (cause == stateversion.ErrVersion) || retry != (code == cli.Failed) {
				t.Errorf("%v: hint %q", cause, cli.HintOf(err))
			}
		}
	}
	if err := stateError(nil); err != nil {
		t.Error(err)
	}
}

// TestReadyOnFullDisk: if standard output is a file on a full disk, the log says that the line is missing.
func TestReadyOnFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	var log, stdout strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	if sayReady(&stdout, logger, "x"); stdout.String() != "lnetd ready: x\n" || log.String() != "" {
		t.Errorf("wrote %q, log %q", &stdout, &log)
	}
	if sayReady(full, logger, "x"); !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), syscall.ENOSPC.Error()) {
		t.Errorf("log %q", &log)
	}
}
