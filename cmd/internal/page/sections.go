package page

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// section is a field of the State in JSON.
type section struct {
	name    string
	json    []byte
	version uint64 // number of the reading in which the section changed last
}

// readLimit is how long a request waits for a reading. A node that is stuck may never end it.
const readLimit = 3 * time.Second

// since returns a JSON object with the sections that have changed since the reading with the number
// seen, and the number of the last reading. The object is nil if nothing has changed. Number 0 stands
// for a client that has nothing. ok is false if the state cannot be read in time.
func (p *Page) since(seen uint64) (message []byte, version uint64, ok bool) {
	if reading := p.begin(); reading != nil {
		late := time.NewTimer(readLimit)
		defer late.Stop()
		select {
		case <-reading:
		case <-late.C:
			return nil, seen, false
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	message = []byte{'{'}
	for i := range p.sections {
		s := &p.sections[i]
		if s.version <= seen {
			continue
		}
		if len(message) > 1 {
			message = append(message, ',')
		}
		message = append(append(append(append(message, '"'), s.name...), '"', ':'), s.json...)
	}
	if len(message) == 1 {
		return nil, p.version, true
	}
	return append(message, '}'), p.version, true
}

// begin begins to read the state, if the last reading is old and none is under way. It returns a
// channel that is closed when the reading has ended; nil: there is none.
func (p *Page) begin() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The time since the last reading may be a tenth shorter than the interval, because the timers of streams
	// are not exact.
	if now := time.Now(); p.reading == nil && (p.version == 0 || now.Sub(p.at) >= p.interval-p.interval/10) {
		p.at, p.reading = now, make(chan struct{})
		go p.refresh()
	}
	return p.reading
}

// refresh reads the state.
func (p *Page) refresh() {
	var texts []section
	for field, value := range reflect.ValueOf(p.read()).Elem().Fields() {
		text, err := json.Marshal(value.Interface())
		if err != nil { // no value can cause this: TestStateAsJSON has all types
			text = []byte("null")
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		texts = append(texts, section{name: name, json: text})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	for i := range texts {
		texts[i].version = p.version
		if p.sections != nil && bytes.Equal(p.sections[i].json, texts[i].json) {
			texts[i].version = p.sections[i].version
		}
	}
	p.sections = texts
	close(p.reading)
	p.reading = nil
}
