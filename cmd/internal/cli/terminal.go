package cli

import (
	"bytes"
	"io"
	"os"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// IsTerminal reports whether w is a terminal.
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

// Size returns the columns and rows of a terminal; 0 and 0 if they are unknown or w is not
// a terminal.
func Size(w io.Writer) (columns, rows int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, 0
	}
	_ = conn.Control(func(fd uintptr) { // if the file is closed, the size stays unknown
		if size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			columns, rows = int(size.Col), int(size.Row)
		}
	})
	return columns, rows
}

// Fit cuts lines that are longer than columns, so that each takes one row of a terminal. If
// columns is 0 it cuts nothing.
func Fit(text []byte, columns int) []byte {
	if columns <= 0 {
		return text
	}
	var fit []byte
	for line := range bytes.Lines(text) {
		body, ended := bytes.CutSuffix(line, []byte("\n"))
		if utf8.RuneCount(body) > columns {
			body = []byte(string([]rune(string(body))[:columns]))
		}
		if fit = append(fit, body...); ended {
			fit = append(fit, '\n')
		}
	}
	return fit
}
