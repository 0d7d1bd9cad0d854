package scoll_test

import (
	"errors"
	"strings"
	"testing"

	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// TestStatuses has the text of each status of an answer. A status that messages have must have a
// name in this package, too.
func TestStatuses(t *testing.T) {
	texts := map[scoll.Status]string{
		scoll.OK:          "ok",
		scoll.EPERM:       "not the parent",
		scoll.EIO:         "failed",
		scoll.EAGAIN:      "too early",
		scoll.EBUSY:       "busy",
		scoll.EINVAL:      "invalid",
		scoll.EPROTO:      "not understood",
		scoll.EMSGSIZE:    "too large",
		scoll.ENOTSUP:     "not supported",
		scoll.ETIMEDOUT:   "timed out",
		scoll.EHOSTDOWN:   "node is down",
		scoll.EALREADY:    "done already",
		scoll.ESTALE:      "out of date",
		scoll.ECANCELED:   "canceled",
		scoll.ENOGROUP:    "no such group",
		scoll.ENOSERVICE:  "no such service",
		scoll.EREBOOT:     "of an earlier incarnation of the root",
		scoll.EKEY:        "not signed with the key",
		scoll.EAHEAD:      "incarnation ahead of the clock",
		scoll.ENOTLISTED:  "not on the list of nodes",
		scoll.ELOST:       "answered, but that was lost above it",
		scoll.EMAXACTIVE:  "busy: max_active",
		scoll.EMAXGROUPS:  "busy: max_groups",
		scoll.EMAXLISTS:   "busy: lists of members",
		scoll.EMAXMEMORY:  "busy: max_memory",
		scoll.EMAXMEMBERS: "too large: max_members",
	}
	for s := range scoll.Status(2000) {
		if text, ok := texts[s]; s.String() != text && (ok || !strings.HasPrefix(s.String(), "status ")) {
			t.Errorf("%d is %q, in the table: %q", s, s, text)
		}
	}
}

func TestBadMemberships(t *testing.T) {
	member := func(s string) scoll.Target { return scoll.Target{NID: nid.MustParse(s), Entities: []wire.Entity{{1}}} }
	for want, change := range map[error]func([]scoll.Target) []scoll.Target{
		wire.ErrNoMembers:  func([]scoll.Target) []scoll.Target { return nil },
		scoll.ErrTwice:     func(l []scoll.Target) []scoll.Target { l[1].NID = l[2].NID; return l },
		wire.ErrMember:     func(l []scoll.Target) []scoll.Target { l[1].NID = nid.Any(); return l },
		wire.ErrNoEntities: func(l []scoll.Target) []scoll.Target { l[1].Entities = nil; return l },
	} {
		all := []scoll.Target{member("10.1.0.1@tcp"), member("10.1.0.2@tcp"), member("10.1.0.3@tcp")}
		if _, err := scoll.NewMembership(change(all)); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}
