package dissection

import (
	"fmt"
	"io"
)

// Printer prints records in one of the formats.
type Printer interface {
	// Record prints a record.
	Record(*Shown)
	// Begin announces the records of the next file, if there are several files.
	Begin(file string)
}

// textPrinter prints a line of text for each record.
type textPrinter struct {
	w       io.Writer
	verbose bool
	files   int
}

// NewText returns a printer of lines of text. If verbose is set, it also prints all fields, and when
// connections are opened and closed. It ignores errors of w, like NewJSON.
func NewText(w io.Writer, verbose bool) Printer { return &textPrinter{w: w, verbose: verbose} }

// Formats of times, which are UTC: ShortTime is the time of day to the microsecond, fullTime
// is RFC 3339 to the nanosecond.
const (
	ShortTime = "15:04:05.000000"
	fullTime  = "2006-01-02T15:04:05.000000000Z07:00"
)

func (p *textPrinter) Begin(file string) {
	if p.files > 0 {
		fmt.Fprintln(p.w)
	}
	p.files++
	fmt.Fprintf(p.w, "==> %s <==\n", file)
}

func (p *textPrinter) Record(r *Shown) {
	if !p.verbose && r.Minor() {
		return
	}
	at := r.Time.UTC().Format(ShortTime)
	if p.verbose {
		at = r.Time.UTC().Format(fullTime)
	}
	src, dst := r.Ends()
	fmt.Fprintf(p.w, "%s %s → %s  %s\n", at, src, dst, r)
	if p.verbose {
		details(p.w, r)
	}
}
