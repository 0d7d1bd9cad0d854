package portals_test

import (
	"syscall"

	"pgregory.net/rapid"

	"ulnet/lnet/wire"
	"ulnet/portals"
)

// modelShared is the SEND event of a batch with OneSend.
type modelShared struct {
	left  int // messages that have not ended
	event portals.Event
	err   error
}

// putBatch starts a batch of PUTs in the model.
func (m *model) putBatch(d *modelMD, r portals.PutBatchRequest) error {
	if len(r.Puts) == 0 {
		return syscall.EINVAL
	}
	for _, p := range r.Puts {
		if p.Portal < 0 || p.MD != 0 && p.MD != r.MD {
			return syscall.EINVAL
		}
	}
	if !d.allows(len(r.Puts)) {
		return syscall.ENOENT
	}
	for _, p := range r.Puts {
		if !d.has(p) {
			return syscall.EINVAL
		}
	}
	var list []*modelSend
	for _, p := range r.Puts {
		d.begin()
		list = append(list, m.message(wire.Put, d, p))
	}
	if r.OneSend {
		d.refs -= len(list) - 1
		share(list, r.OpPtr)
	}
	for _, s := range list {
		m.send(s)
	}
	return nil
}

// share gives messages one SEND event.
func share(list []*modelSend, opPtr any) {
	all := &modelShared{left: len(list), event: list[0].event}
	all.event.OpPtr, all.event.RLength, all.event.MLength = opPtr, 0, 0
	for _, s := range list {
		s.shared = all
		all.event.RLength += s.event.RLength
	}
}

// endShared ends a message that has no event of its own.
func (m *model) endShared(s *modelSend, err error) {
	all := s.shared
	if err == nil {
		all.event.MLength += s.event.MLength
	} else if all.err == nil {
		e := s.event
		e.OpPtr, e.RLength, e.MLength = all.event.OpPtr, all.event.RLength, all.event.MLength
		all.event, all.err = e, err
	}
	if all.left--; all.left == 0 {
		m.complete(s.md, all.event, all.err)
	}
}

func (r *modelRun) putBatch(t *rapid.T) {
	d := pick(t, "MD", r.mds)
	if d == nil {
		return
	}
	b := portals.PutBatchRequest{MD: d.handle, OneSend: drawBool(t, "one SEND")}
	if b.OneSend {
		b.OpPtr = len(r.mds)
	}
	for range rapid.IntRange(0, 5).Draw(t, "PUTs") {
		p := portals.PutRequest{
			Target: drawPeer(t), Portal: rapid.IntRange(0, 2).Draw(t, "portal"), MatchBits: drawBits(t), Offset: drawOffset(t),
		}
		drawPut(t, &p)
		if rapid.IntRange(0, 19).Draw(t, "wrong") == 19 {
			p.Portal = -1
		}
		switch rapid.IntRange(0, 19).Draw(t, "names its MD") {
		case 18:
			p.MD = d.handle
		case 19:
			p.MD = pick(t, "other MD", r.mds).handle
		}
		b.Puts = append(b.Puts, p)
	}
	r.same(t, r.table.PutBatch(b), r.model.putBatch(d, b))
}
