package webcapture

import (
	"fmt"
	"io"
	"sync"

	"ulnet/cmd/internal/dissection"
	"ulnet/lnd/capture"
)

const (
	maxLines = 500 // bound on the lines that wait for the client; further ones are left out and counted
	maxText  = 300 // bound on the characters of a line
)

// Line is a decoded message.
type Line struct {
	Time string `json:"time"` // time of day, UTC, to the microsecond
	From string `json:"from"` // NID, or address and port
	To   string `json:"to"`   // NID, or address and port
	What string `json:"what"` // what the message says, as lnetdump shows it
}

// lines decodes a capture, and has the lines that wait for the client.
type lines struct {
	filter  *dissection.Filter
	payload bool // the capture has payload
	known   *dissection.Protocols

	mu      sync.Mutex
	waiting []Line // guarded by mu, like the fields below
	missed  uint64 // lines left out since the last take
	records uint64 // records that the filter has selected
}

func newLines(filter *dissection.Filter, payload bool) *lines {
	return &lines{filter: filter, payload: payload, known: dissection.NewProtocols(nil)}
}

// decode decodes a capture up to its end. It returns the panic of a decoder with a defect as an error,
// because a panic must not end the daemon; otherwise the error is nil.
func (l *lines) decode(in io.Reader) (err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("a decoder has a defect: %v", why)
		}
	}()
	r, err := capture.NewReader(in)
	if err != nil {
		return nil // the capture has ended before its first block
	}
	d := capture.NewDissector(capture.Options{}, l.record)
	for {
		p, err := r.Next()
		if err != nil {
			break // the capture has ended, perhaps in the middle of a packet
		}
		d.Packet(p.Time, p.Link, p.Data)
	}
	d.Close()
	return nil
}

// record adds the line of a record.
func (l *lines) record(r *capture.Record) {
	s := dissection.Shown{Record: r} // without payload the protocols above LNet cannot be decoded
	if l.payload {
		s = l.known.Read(r) // also for records that the filter omits, which may be needed to decode later ones
	}
	if !l.filter.Match(r) || s.Minor() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records++
	if len(l.waiting) == maxLines {
		l.missed++
		return
	}
	from, to := s.Ends()
	l.waiting = append(l.waiting, Line{r.Time.UTC().Format(dissection.ShortTime), shortened(from), shortened(to), shortened(s.String())})
}

// take returns the lines that wait, and how many were left out.
func (l *lines) take() (waiting []Line, missed, records uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting, missed = l.waiting, l.missed
	l.waiting, l.missed = nil, 0
	return waiting, missed, l.records
}

// shortened returns a text, cut if it has more than maxText characters.
func shortened(s string) string {
	if len(s) <= maxText {
		return s
	}
	if runes := []rune(s); len(runes) > maxText {
		return string(runes[:maxText-1]) + "…"
	}
	return s
}
