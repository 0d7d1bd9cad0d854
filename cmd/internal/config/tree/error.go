package tree

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// Error is an error in the form of Lustre's lnetctl: the verb that failed, its object, the
// errno and the reason.
type Error struct {
	Verb   string        // verb such as add, del or show
	Object string        // kind of item, such as net; "import" for an error of the file as a whole
	Errno  syscall.Errno // positive; printed as a negative number
	Text   string        // reason of the error
	Line   int           // line in the file, from 1; 0: none
	Cause  error         // error of the node; nil: there is only Text
}

// Error returns where and why, in one line.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Text)
	}
	return e.Text
}

// Unwrap returns the errno, and the cause if there is one.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Errno}
	}
	return []error{e.Errno, e.Cause}
}

// Write prints the error in the layout in which Lustre's lnetctl prints errors of the kernel: as
// a YAML document of its own.
func (e *Error) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "---\n%s:\n-     %s:\n      errno: %d\n      descr: ! %s\n...\n", e.Verb, e.Object, -int(e.Errno), strconv.Quote(e.Text))
	return err
}

// inFile returns an error at a line of the file.
func inFile(line int, errno syscall.Errno, format string, args ...any) *Error {
	return &Error{Verb: "add", Object: "import", Errno: errno, Text: shown(fmt.Sprintf(format, args...)), Line: line}
}

// maxShown is how many characters of a text an error may contain.
const maxShown = 160

// shown makes text that comes from a file fit for an error. A file may contain anything, so
// shown removes characters that a terminal may obey, and shortens a long text.
func shown(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > maxShown {
			return b.String() + "..."
		}
		if !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}
