package dissection

import (
	"fmt"
	"slices"
	"strings"

	"ulnet/health/collective"
	healthwire "ulnet/health/wire"
)

// maxShownIncarnations is how many clients the summary of a broadcast lists.
const maxShownIncarnations = 3

// evictionBatch is the payload of a broadcast that evicts clients.
type evictionBatch struct{ healthwire.Batch }

func readBatch(payload []byte) (*evictionBatch, error) {
	b, err := healthwire.ParseBatch(payload)
	if err != nil {
		return nil, err
	}
	b.Entries = slices.Clone(b.Entries)
	return &evictionBatch{b}, nil
}

// cause returns the reason for the eviction of a client.
func cause(e healthwire.Entry) string { return healthwire.Cause(e.Mark).String() }

// verb returns the words for what the batch does: it evicts clients, or withdraws earlier evictions.
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
		fmt.Fprintf(&s, " %v incarnation %d %s", e.Client, e.Incarnation, cause(e))
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
	lines := []string{fmt.Sprintf("health %s %d, master's incarnation %d", b.verb(), b.Entries.Len(), b.Incarnation)}
	for _, line := range entryLines(b.Entries, cause) {
		lines = append(lines, map[bool]string{false: "evict ", true: "withdraw "}[b.Withdraw]+line)
	}
	return lines
}

// entry returns the batch as a JSON object.
func (b *evictionBatch) entry() (o object) {
	o.put("server_life", decimal(b.Incarnation))
	o.some("withdraw", b.Withdraw) // true: earlier evictions are withdrawn
	o.some("entries", incarnationObjects(b.Entries, cause))
	return o
}

// evictionReply is the merged answer of a server and its subtree to a batch.
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

// exception returns the reason why a client was not evicted.
func exception(e healthwire.Exception) string {
	s := fmt.Sprintf("not %d: %v", e.Index, e.Code)
	if e.Code == healthwire.OtherMaster {
		return s + fmt.Sprintf(" %v by epoch %d", e.Master, e.Epoch)
	}
	return s + fmt.Sprintf(" incarnation %d", e.Incarnation)
}

func (r *evictionReply) details() []string {
	lines := []string{fmt.Sprintf("health evicted %d, not connected %d, exceptions %d, without an answer %d",
		r.Reply.Evicted, r.Reply.Unknown, len(r.Reply.Exceptions), len(r.Absent))}
	for _, id := range r.Absent[:min(len(r.Absent), maxListed)] {
		lines = append(lines, fmt.Sprintf("without an answer: %v", id))
	}
	return append(lines, boundedLines(len(r.Reply.Exceptions), "%d more exceptions", func(i int) string { return exception(r.Reply.Exceptions[i]) })...)
}

// entry returns the answer as JSON: the number of evictions, the number of entries whose client
// was not connected, the exceptions, and the servers that take part but did not answer.
func (r *evictionReply) entry() object {
	o := object{{"evicted", r.Reply.Evicted}, {"not_connected", r.Reply.Unknown}}
	var exceptions []object
	for _, e := range r.Reply.Exceptions {
		x := object{{"index", e.Index}, {"code", e.Code.String()}, {"epoch", e.Epoch}, {"incarnation", decimal(e.Incarnation)}}
		if e.Master.IsValid() {
			x.put("master", e.Master.String())
		}
		exceptions = append(exceptions, x)
	}
	o.some("exceptions", exceptions)
	o.some("absent", r.Absent)
	return o
}
