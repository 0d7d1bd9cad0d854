package dissection

import (
	"fmt"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/health/collective"
	"ulnet/scoll/wire"
)

// explain parses the payload of a request to one of the services of lnetd. It ignores other
// services and invalid payloads.
func (q *collectiveRequest) explain(payload []byte) {
	q.order = order(&q.RequestHeader, payload)
	if b, err := readBatch(payload); err == nil && q.evicts() {
		q.evictions, q.order = b, b.summary()
	}
}

// evicts reports whether a request is for client health.
func (q *collectiveRequest) evicts() bool {
	return q.Service == collective.ServiceID && q.Flags&wire.FlagModule == 0
}

// explain parses the payload of an answer to a request of one of the services of lnetd.
func (p *collectiveReply) explain(payload []byte) {
	if p.to == nil || p.to.evictions == nil {
		return
	}
	if a, err := collective.ParseAnswer(payload, p.to.evictions.Entries.Len(), int(p.to.Nodes)); err == nil {
		p.evictions = &evictionReply{a}
	}
}

// order describes a request to the administration service of lnetd. It returns "" if the
// payload is for another service or invalid.
func order(h *wire.RequestHeader, payload []byte) string {
	if h.Service != admin.ServiceID || h.Flags&wire.FlagModule != 0 {
		return ""
	}
	q, err := admin.ParseRequest(payload)
	if err != nil {
		return ""
	}
	s := "lnetd " + q.Verb.String()
	if q.Verb == admin.Run {
		s += fmt.Sprintf(" %q within %v", q.Name, time.Duration(q.Limit)*time.Millisecond)
	}
	if len(q.Text) > 0 {
		s += ", text of " + snippetOf(q.Text, uint64(len(q.Text))).String()
	}
	return s
}
