package selftest_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// admits makes host 0 a console that answers requests to join with a status, or not at all.
func (l *lab) admits(status wire.Status, answers bool) {
	l.t.Helper()
	b := make([]byte, wire.MessageSize)
	l.hosts[0].Do(func() {
		me, err := l.tables[0].MEAttach(wire.FrameworkPortal, portals.Match{ID: process(1), Bits: uint64(wire.JoinService)}, portals.Unlink, portals.After)
		if err == nil {
			_, err = l.tables[0].MDAttach(me, portals.MD{Segments: []lnd.Segment{b}, Threshold: 1, Options: portals.OpPut, Handler: func(e *portals.Event) {
				if m, err := wire.ParseMessage(b[:e.MLength]); e.Kind == portals.EventPut && err == nil && answers {
					l.admit(m.ReplyID, status)
				}
			}}, portals.Unlink)
		}
		if err != nil {
			l.t.Error(err)
		}
	})
}

// admit sends the reply.
func (l *lab) admit(id uint64, status wire.Status) {
	reply := wire.Message{Header: wire.Header{Features: 1}, Status: status, Body: &wire.JoinReply{Session: session, Timeout: 300, Name: "lab"}}
	data, err := reply.AppendBinary(nil)
	if err == nil {
		var md portals.MDHandle
		if md, err = l.tables[0].MDBind(portals.MD{Segments: []lnd.Segment{data}, Threshold: 1}, portals.Unlink); err == nil {
			err = l.tables[0].Put(portals.PutRequest{MD: md, Target: process(1), Portal: wire.BulkPortal, MatchBits: id})
		}
	}
	if err != nil {
		l.t.Error(err)
	}
}

// beginJoin makes node 1 ask host 0 for membership, and returns where the result of the Join is stored.
func (l *lab) beginJoin() *error {
	end := errors.New("not yet")
	l.hosts[1].Do(func() { l.agents[1].BeginJoin(process(0), "g", func(err error) { end = err }) })
	return &end
}

// TestJoins: a node asks a console for membership, and is in its session then. A refusal by the
// console, and no answer at all, are errors that say what to do.
func TestJoins(t *testing.T) {
	spec.Covers(t, "ST-33")
	for name, tt := range map[string]struct {
		status  wire.Status
		answers bool
		errno   syscall.Errno
		hint    string
	}{
		"admitted":   {wire.OK, true, 0, ""},
		"no session": {wire.ESRCH, true, syscall.ESRCH, "lst new_session"},
		"in use":     {wire.EBUSY, true, syscall.EBUSY, "name another group"},
		"no place":   {wire.ENOMEM, true, syscall.ENOMEM, "lst add_group"},
		"twice":      {wire.EEXIST, true, syscall.EEXIST, "already"},
		"odd status": {wire.EIO, true, syscall.EIO, "input/output error"},
		"silence":    {wire.OK, false, syscall.ETIMEDOUT, "see whether it has a console"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1, selftest.Config{})
			l.admits(tt.status, tt.answers)
			err := l.beginJoin()
			l.run(31 * time.Second)
			if tt.errno == 0 {
				if s := l.agents[1].Status(); *err != nil || s.Name != "lab" || s.Session != session.String() {
					t.Errorf("%v, %+v", *err, s)
				}
				return
			}
			if !errors.Is(*err, tt.errno) || !strings.Contains((*err).Error(), tt.hint) || l.agents[1].Status().Session != "none" {
				t.Errorf("%v, want %v and %q", *err, tt.errno, tt.hint)
			}
		})
	}
}

// TestJoinEnds: a Join ends with its context, and with the agent.
func TestJoinEnds(t *testing.T) {
	spec.Covers(t, "ST-33")
	l := newLab(t, 1, selftest.Config{})
	l.admits(wire.OK, false)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	l.hosts[1].Do(func() {
		if _, err := l.agents[1].Join(over, process(0), "g"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	err := l.beginJoin()
	l.run(time.Second)
	l.hosts[1].Do(func() {
		if err := l.agents[1].Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := l.agents[1].Join(t.Context(), process(0), "g"); !errors.Is(err, syscall.ESHUTDOWN) {
			t.Error(err)
		}
	})
	l.run(time.Second)
	if !errors.Is(*err, syscall.ESHUTDOWN) {
		t.Error(*err)
	}
}
