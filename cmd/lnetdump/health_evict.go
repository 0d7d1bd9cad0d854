package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ulnet/health/collective"
	healthwire "ulnet/health/wire"
)

// maxShownIncarnations is how many clients the line of a broadcast names.
const maxShownIncarnations = 3

// evictionBatch is a request to evict clients, which a broadcast carries.
type evictionBatch struct{ healthwire.Batch }

func readBatch(payload []byte) (*evictionBatch, error) {
	b, err := healthwire.ParseBatch(payload)
	if err != nil {
		return nil, err
	}
	b.Entries = slices.Clone(b.Entries)
	return &evictionBatch{b}, nil
}

// cause says why a client is evicted.
func cause(e healthwire.Entry) string { return healthwire.Cause(e.Mark).String() }

// verb is what a batch wants.
func (b *evictionBatch) verb() string {
	if b.Withdraw {
		return "withdraws evictions of"
	}
	return "evicts"
}

func (b *evictionBatch) summary() string {
	var s strings.Builder
	fmt.Fprintf(&s, "health %s %d:", b.verb(), b.Entries.Len())
	for i := range min(b.Entries.Len(), maxShownIncarnations) {
		e := b.Entries.At(i)
		fmt.Fprintf(&s, " %v life %d %s", e.Client, e.Incarnation, cause(e))
		if e.Epoch > 0 {
			fmt.Fprintf(&s, " epoch %d", e.Epoch)
		}
	}
	if b.Entries.Len() > maxShownIncarnations {
		s.WriteString(" …")
	}
	return s.String()
}

func (b *evictionBatch) details() []string {
	lines := []string{fmt.Sprintf("health %s %d, master's life %d", b.verb(), b.Entries.Len(), b.Incarnation)}
	for _, line := range entryLines(b.Entries, cause) {
		lines = append(lines, map[bool]string{false: "evict ", true: "withdraw "}[b.Withdraw]+line)
	}
	return lines
}

// entry is the request as JSON.
func (b *evictionBatch) entry() *evictionsEntry {
	return &evictionsEntry{Incarnation: strconv.FormatUint(b.Incarnation, 10), Withdraw: b.Withdraw, Entries: incarnationEntries(b.Entries, cause)}
}

// evictionReply is what a server and all below it answer to a batch.
type evictionReply struct{ collective.Answer }

func (r *evictionReply) summary() string {
	s := fmt.Sprintf("health evicted %d, not connected %d", r.Reply.Evicted, r.Reply.Unknown)
	if len(r.Absent) > 0 {
		s += fmt.Sprintf(", %d without an answer", len(r.Absent))
	}
	for i, e := range r.Reply.Exceptions {
		if i == maxShownIncarnations {
			return s + fmt.Sprintf(", and %d more", len(r.Reply.Exceptions)-i)
		}
		s += ", " + exception(e)
	}
	return s
}

// exception says of an eviction why it was not made.
func exception(e healthwire.Exception) string {
	s := fmt.Sprintf("not %d: %v", e.Index, e.Code)
	if e.Code == healthwire.OtherMaster {
		return s + fmt.Sprintf(" %v by epoch %d", e.Master, e.Epoch)
	}
	return s + fmt.Sprintf(" life %d", e.Incarnation)
}

func (r *evictionReply) details() []string {
	lines := []string{fmt.Sprintf("health evicted %d, not connected %d, exceptions %d, without an answer %d",
		r.Reply.Evicted, r.Reply.Unknown, len(r.Reply.Exceptions), len(r.Absent))}
	for _, id := range r.Absent[:min(len(r.Absent), maxMissingLines)] {
		lines = append(lines, fmt.Sprintf("without an answer: %v", id))
	}
	for i, e := range r.Reply.Exceptions {
		if i == maxMissingLines {
			return append(lines, fmt.Sprintf("%d more exceptions", len(r.Reply.Exceptions)-i))
		}
		lines = append(lines, exception(e))
	}
	return lines
}

// entry is the answer as JSON.
func (r *evictionReply) entry() *evictionsEntry {
	e := &evictionsEntry{Evicted: &r.Reply.Evicted, Unknown: &r.Reply.Unknown}
	for _, id := range r.Absent {
		e.Absent = append(e.Absent, id.String())
	}
	for _, x := range r.Reply.Exceptions {
		entry := exceptionEntry{Index: x.Index, Code: x.Code.String(), Epoch: x.Epoch, Incarnation: strconv.FormatUint(x.Incarnation, 10)}
		if x.Master.IsValid() {
			entry.Master = x.Master.String()
		}
		e.Exceptions = append(e.Exceptions, entry)
	}
	return e
}

// evictionsEntry is a request to evict, or its answer, as JSON.
type evictionsEntry struct {
	Incarnation string             `json:"server_life,omitempty"`
	Withdraw    bool               `json:"withdraw,omitempty"` // evictions are taken back
	Entries     []incarnationEntry `json:"entries,omitempty"`
	Evicted     *uint32            `json:"evicted,omitempty"`       // how often a client was evicted
	Unknown     *uint32            `json:"not_connected,omitempty"` // how often it was not connected
	Exceptions  []exceptionEntry   `json:"exceptions,omitempty"`
	Absent      []string           `json:"absent,omitempty"` // servers that did not answer, although they are there
}

type exceptionEntry struct {
	Index       uint16 `json:"index"`
	Code        string `json:"code"`
	Epoch       uint32 `json:"epoch"`
	Incarnation string `json:"incarnation"`
	Master      string `json:"master,omitempty"`
}
