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
	is := false
	control(w, func(fd int) {
		_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		is = err == nil
	})
	return is
}

// control calls do with the descriptor of w, if w is an open file or a command's standard output that is one.
func control(w io.Writer, do func(fd int)) {
	if out, ok := w.(*checkedWriter); ok {
		w = out.to
	}
	f, ok := w.(*os.File)
	if !ok {
		return
	}
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { do(int(fd)) }) // fails if the file is closed: then do is not called
	}
}

// Size returns the columns and rows of a terminal; 0 and 0 if they are unknown or w is not
// a terminal.
func Size(w io.Writer) (columns, rows int) {
	control(w, func(fd int) {
		if size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ); err == nil {
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
