package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// IsTerminal reports whether w is a terminal: somebody watches.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var termErr error
	err = conn.Control(func(fd uintptr) {
		_, termErr = unix.IoctlGetTermios(int(fd), unix.TCGETS)
	})
	return err == nil && termErr == nil
}
