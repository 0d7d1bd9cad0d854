package main

import (
	"fmt"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/scoll"
)

// order says what a payload asks lnetd's administration service for, or "" if it
// is another service's, or makes no sense.
func order(h *scoll.RequestHeader, payload []byte) string {
	if h.Service != admin.ServiceID || h.Flags&scoll.FlagModule != 0 {
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
