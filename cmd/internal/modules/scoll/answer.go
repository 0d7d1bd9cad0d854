package scoll

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"

	"ulnet/cmd/internal/admin"
	"ulnet/scoll"
)

// answerOf decodes a member's answer to an order.
func answerOf(o admin.Order, p admin.Piece) Answer {
	a := Answer{NID: p.NID, TookUS: p.Took.Microseconds()}
	if p.Status != scoll.OK {
		a.Error = ErrorOf(o, p)
		return a
	}
	var err error
	switch o.Verb {
	case admin.VersionOf:
		a.Version = string(p.Data)
	case admin.ConfigOf:
		a.Digest = hex.EncodeToString(p.Data)
	case admin.Text:
		a.Digest = hex.EncodeToString(p.Data)
		if !bytes.Equal(p.Data, admin.Sum(o.Text, [][]byte{o.Bulk})) {
			a.Error = "received something else"
		}
	case admin.Clock:
		var c admin.Reading
		if c, err = admin.ParseReading(p.Data); err == nil && c.Bound != admin.Unbounded {
			a.OffsetNS, a.BoundNS = new(int64(c.Offset)), new(int64(c.Bound))
		}
	case admin.Run:
		var r admin.Ran
		if r, err = admin.ParseRan(p.Data); err == nil {
			a.Exit, a.TimeOver, a.Cut, a.Output = new(r.Exit), r.TimeOver, r.Cut, new(string(r.Output))
		}
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// isBad reports whether the answer is that the member could not carry out the order.
func (a *Answer) isBad() bool {
	return a.Error != "" || a.TimeOver || a.Exit != nil && *a.Exit != 0
}

const distrusted = "refused: users without privilege can have the NID of any host there; set key_file in the section scoll of all servers, or actions_without_identity: yes in its section admin there"

// ErrorOf returns what the status of a member's answer means, as text for people.
func ErrorOf(o admin.Order, p admin.Piece) string {
	const noEntry scoll.Status = 2
	switch p.Status {
	case admin.Distrusted:
		return distrusted
	case scoll.EPERM:
		return "not allowed: allow_roots and allow_relays there say who may run actions"
	case noEntry:
		return fmt.Sprintf("there is no action %s there, or no such program", o.Action)
	case scoll.EBUSY:
		return "max_actions run there already"
	case scoll.ESTALE:
		return "it has run the request when it first came, and has forgotten the answer since: too many other requests came there"
	case scoll.ENOTSUP:
		v := scoll.Versions{Own: admin.Version}
		if v.Merge(p.Data) == nil && v.Count > 0 {
			return fmt.Sprintf("it knows version %d of the service only", v.Lowest)
		}
	}
	return p.Status.Error()
}

// unreachedTexts says why a member's answer did not arrive, as text for people.
var unreachedTexts = map[scoll.Status]string{
	scoll.EPERM:       "not allowed: allow_roots and allow_relays there say who may send bulk data, and which nodes above it may forward actions; only servers of client health may forward questions for clients",
	admin.Distrusted:  distrusted,
	scoll.EBUSY:       "too busy: max_active, max_groups or max_memory there",
	scoll.EMAXACTIVE:  "too busy: raise max_active in the section scoll there",
	scoll.EMAXGROUPS:  "too busy: all groups there are in use; raise max_groups in the section scoll there",
	scoll.EMAXLISTS:   "too busy: lists of members take all memory that there is for them there; use fewer large groups at a time",
	scoll.EMAXMEMORY:  "too busy: raise max_memory in the section scoll, admin, there",
	scoll.EMAXMEMBERS: "too large: raise max_members in the section scoll there",
	scoll.EMSGSIZE:    "too large: max_bulk there, or the answers",
	scoll.EINVAL:      "refused: beyond max_timeout, or too many are below it, see --tree",
	scoll.EIO:         "cannot be sent to",
	scoll.ECANCELED:   "given up, or its lnetd is stopping",
	scoll.ENOSERVICE:  "no administration service there",
	scoll.EKEY:        "refused: key_file of the section scoll is not the same there",
	scoll.EAHEAD:      "refused: an incarnation is more than a day above the clock there; compare the clocks, see docs/collectives.md",
	scoll.ENOTLISTED:  "not asked: it is not in allow_members of the one above it, nor on the lists that stand for that",
}

// unreachedText returns why a member's answer did not arrive.
func unreachedText(s scoll.Status) string { return cmp.Or(unreachedTexts[s], s.Error()) }
