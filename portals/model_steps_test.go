package portals_test

import (
	"syscall"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// The steps of TestModel: each draws a call, makes it on the table and on the
// model, and compares the errors.

func drawBool(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

// pick draws an element of a list. If the list is empty it returns nil, and the step does
// nothing.
func pick[T any](t *rapid.T, label string, list []*T) *T {
	if len(list) == 0 {
		return nil
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(t, label)]
}

func drawUnlink(t *rapid.T) portals.UnlinkOption {
	return portals.UnlinkOption(rapid.IntRange(0, 1).Draw(t, "unlink"))
}

func drawPosition(t *rapid.T) portals.InsertPosition {
	return portals.InsertPosition(rapid.IntRange(0, 2).Draw(t, "position"))
}

func drawBits(t *rapid.T) uint64 {
	return rapid.SampledFrom([]uint64{0, 0, 0, 1, 0x101}).Draw(t, "match bits")
}

// peers are the initiators and targets; there and beside are one node.
var peers = map[string]nid.ProcessID{"there": there, "beside": beside, "stranger": stranger}

func drawSource(t *rapid.T) nid.ProcessID {
	return peers[rapid.SampledFrom([]string{"there", "beside", "stranger"}).Draw(t, "from")]
}

func drawPeer(t *rapid.T) nid.ProcessID {
	return peers[rapid.SampledFrom([]string{"there", "stranger", "beside"}).Draw(t, "to")]
}

// drawMatch draws a match for a portal: one that portal 1, which is unique, accepts, or any
// other.
func drawMatch(t *rapid.T, portal int) portals.Match {
	m := portals.Match{ID: drawSource(t), Bits: drawBits(t)}
	if portal == 1 && rapid.IntRange(0, 9).Draw(t, "unfit") < 9 {
		return m
	}
	if rapid.IntRange(0, 3).Draw(t, "one initiator") > 0 {
		m.ID.NID = nid.Any()
	}
	if drawBool(t, "any process") {
		m.ID.PID = nid.PIDAny
	}
	m.Ignore = rapid.SampledFrom([]uint64{0, 0, 0x100, ^uint64(0)}).Draw(t, "ignore bits")
	return m
}

func (r *modelRun) drawMD(t *rapid.T) portals.MD {
	md := portals.MD{
		Threshold: rapid.SampledFrom([]int{inf, 1, 2, 3, 0, -2}).Draw(t, "threshold"),
		UserPtr:   len(r.mds),
		Handler: func(e *portals.Event) {
			event := *e
			event.Segments = nil
			r.happened = append(r.happened, event)
		},
	}
	memory := make([]byte, rapid.IntRange(0, 12).Draw(t, "size"))
	for i := range memory {
		memory[i] = byte(0x80 + i)
	}
	cut := rapid.IntRange(0, len(memory)).Draw(t, "first segment")
	md.Segments = []lnd.Segment{memory[:cut:cut], memory[cut:]}
	for _, o := range []struct {
		name   string
		option portals.MDOption
	}{
		{"remote offset", portals.ManageRemote},
		{"truncate", portals.Truncate},
		{"no ACK", portals.AckDisable},
		{"track response", portals.TrackResponse},
		{"track no response", portals.NoTrackResponse},
	} {
		if rapid.IntRange(0, 2).Draw(t, o.name) == 2 {
			md.Options |= o.option
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "has max size") == 3 {
		md.Options |= portals.HasMaxSize
		md.MaxSize = rapid.IntRange(-1, 13).Draw(t, "max size")
	}
	return md
}

func (r *modelRun) meAttach(t *rapid.T) {
	portal := rapid.IntRange(0, len(r.portals)-1).Draw(t, "portal")
	match, unlink, pos := drawMatch(t, portal), drawUnlink(t), drawPosition(t)
	got, err := r.table.MEAttach(portal, match, unlink, pos)
	e, want := r.model.meAttach(portal, match, unlink, pos)
	r.same(t, err, want)
	r.newEntry(t, e, got)
}

func (r *modelRun) meInsert(t *rapid.T) {
	other := pick(t, "ME", r.mes)
	if other == nil {
		return
	}
	match, unlink, pos := drawMatch(t, other.portal), drawUnlink(t), drawPosition(t)
	got, err := r.table.MEInsert(other.handle, match, unlink, pos)
	e, want := r.model.meInsert(other, match, unlink, pos)
	r.same(t, err, want)
	r.newEntry(t, e, got)
}

// newEntry adds a new ME to the model, if the call made one, and may attach an MD.
func (r *modelRun) newEntry(t *rapid.T, e *modelME, h portals.MEHandle) {
	if e == nil {
		return
	}
	e.handle = h
	t.Logf("ME %d", e.name)
	if rapid.IntRange(0, 3).Draw(t, "with an MD") > 0 {
		r.giveMD(t, e)
	}
}

func (r *modelRun) mdAttach(t *rapid.T) {
	if e := pick(t, "ME", r.mes); e != nil {
		r.giveMD(t, e)
	}
}

func (r *modelRun) giveMD(t *rapid.T, e *modelME) {
	md, unlink := r.drawMD(t), drawUnlink(t)
	md.Options |= portals.MDOption(rapid.SampledFrom([]int{3, 1, 2, 0}).Draw(t, "operations"))
	got, err := r.table.MDAttach(e.handle, md, unlink)
	d, want := r.model.mdAttach(e, md, unlink)
	r.same(t, err, want)
	if d != nil {
		d.handle = got
		t.Logf("MD %d", d.name)
	}
}

func (r *modelRun) mdBind(t *rapid.T) {
	md, unlink := r.drawMD(t), drawUnlink(t)
	if rapid.IntRange(0, 19).Draw(t, "passive") == 19 {
		md.Options |= portals.OpPut
	}
	got, err := r.table.MDBind(md, unlink)
	d, want := r.model.mdBind(md, unlink)
	r.same(t, err, want)
	if d != nil {
		d.handle = got
		t.Logf("MD %d", d.name)
	}
}

func (r *modelRun) meUnlink(t *rapid.T) {
	e := pick(t, "ME", r.mes)
	if e == nil {
		return
	}
	r.same(t, r.table.MEUnlink(e.handle), r.model.meUnlink(e))
}

func (r *modelRun) mdUnlink(t *rapid.T) {
	d := pick(t, "MD", r.mds)
	if d == nil {
		return
	}
	r.same(t, r.table.MDUnlink(d.handle), r.model.mdUnlink(d))
}

func (r *modelRun) setLazy(t *rapid.T) {
	portal := rapid.IntRange(0, len(r.portals)-1).Draw(t, "portal")
	r.same(t, r.table.SetLazy(portal), nil)
	r.portals[portal].lazy = true
}

func (r *modelRun) clearLazy(t *rapid.T) {
	portal := rapid.IntRange(0, len(r.portals)-1).Draw(t, "portal")
	r.same(t, r.table.ClearLazy(portal), nil)
	r.model.clearLazy(portal)
}

func (r *modelRun) drawRequest(t *rapid.T) (d *modelMD, p portals.PutRequest) {
	if d = pick(t, "MD", r.mds); d == nil {
		return nil, p
	}
	return d, portals.PutRequest{
		MD: d.handle, Target: drawPeer(t), Portal: rapid.IntRange(0, 2).Draw(t, "portal"), MatchBits: drawBits(t),
		Offset: rapid.SampledFrom([]uint32{0, 3, 1<<32 - 1}).Draw(t, "offset"),
	}
}

func (r *modelRun) put(t *rapid.T) {
	d, p := r.drawRequest(t)
	if d == nil {
		return
	}
	drawPut(t, &p)
	r.same(t, r.table.Put(p), r.model.initiate(wire.Put, d, p))
}

// drawPut draws what only a PUT has. The model knows no calls, so a PUT has no OpPtr if it has an ACK.
func drawPut(t *rapid.T, p *portals.PutRequest) {
	p.Ack, p.HdrData = drawBool(t, "ack"), rapid.Uint64().Draw(t, "header data")
	if rapid.IntRange(0, 2).Draw(t, "part") == 2 {
		p.LocalOffset, p.Length = rapid.IntRange(0, 8).Draw(t, "local offset"), rapid.IntRange(0, 6).Draw(t, "length")
	}
	if !p.Ack && drawBool(t, "OpPtr") {
		p.OpPtr = int(p.HdrData)
	}
}

func (r *modelRun) get(t *rapid.T) {
	d, p := r.drawRequest(t)
	if d == nil {
		return
	}
	err := r.table.Get(portals.GetRequest{MD: p.MD, Target: p.Target, Portal: p.Portal, MatchBits: p.MatchBits, Offset: p.Offset})
	r.same(t, err, r.model.initiate(wire.Get, d, p))
}

// drawError draws an error for the end of a message.
func drawError(t *rapid.T) error {
	if rapid.IntRange(0, 3).Draw(t, "fails") == 3 {
		return syscall.EIO
	}
	return nil
}

func (r *modelRun) finish(t *rapid.T) {
	s := pick(t, "message on the way", r.onTheWay)
	if s == nil {
		return
	}
	err := drawError(t)
	r.onTheWay = without(r.onTheWay, s)
	r.end(s, err)
}

// leave ends all inline messages to one process with one write.
func (r *modelRun) leave(t *rapid.T) {
	var to nid.ProcessID
	var list []*modelSend
	var posted []*lnd.Message
	for _, s := range r.onTheWay {
		m := r.messages[s]
		if _, inline := m.Owner.(*lnd.Inline); inline && (len(list) == 0 || m.Target == to) {
			to, list, posted = m.Target, append(list, s), append(posted, m)
		}
	}
	if len(list) == 0 || len(r.peers[to.NID].queue) > 0 { // skip this step: after one write, table and model would send the messages that wait for credits in different orders
		return
	}
	r.net.leave(posted...)
	for _, s := range list {
		r.onTheWay = without(r.onTheWay, s)
		r.model.finish(s, nil)
	}
}

// end ends a message that the network has.
func (r *modelRun) end(s *modelSend, err error) {
	r.net.finalize(r.messages[s], err)
	r.model.finish(s, err)
}

func (r *modelRun) deliver(t *rapid.T) {
	a := pick(t, "message that comes in", r.coming)
	if a == nil {
		return
	}
	err := drawError(t)
	r.coming = without(r.coming, a)
	r.bring(a, err)
}

// bring delivers the payload of a message that an MD took.
func (r *modelRun) bring(a *modelArrival, err error) {
	fill, d := byte(a.name+1), r.deliveries[a]
	for _, s := range d.Sink.Append(nil) {
		for i := range s {
			s[i] = fill
		}
	}
	r.net.up.Delivered(d, err)
	r.model.deliver(a, fill, err)
}

func (r *modelRun) abandon(t *rapid.T) {
	var held []*modelArrival
	for _, p := range r.portals {
		held = append(held, p.held...)
	}
	a := pick(t, "held message", held)
	if a == nil {
		return
	}
	if !r.net.up.Abandon(r.deliveries[a]) {
		t.Fatalf("message %d is not held any more", a.name)
	}
	p := &r.portals[a.event.Portal]
	p.held = without(p.held, a)
	r.drop(a, "peer gone")
}

func (r *modelRun) advance(t *rapid.T) {
	d := time.Duration(rapid.IntRange(1, 12).Draw(t, "seconds")) * time.Second
	r.sweeping = true
	r.clock.advance(d)
	r.model.advance(d)
}

func without[T comparable](list []T, gone T) (rest []T) {
	for _, x := range list {
		if x != gone {
			rest = append(rest, x)
		}
	}
	return rest
}
