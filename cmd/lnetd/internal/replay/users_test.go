//go:build linux

package replay_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/replay"
	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// users use a node as the users of the recorded node did, at the same portals: they ping,
// receive messages, and send the same PUTs and GETs. Their results must be those in the
// recording.
type users struct {
	t        *testing.T
	ctx      context.Context
	stage    *stage
	script   *replay.Script
	peer     nid.NID       // NID of the player, as in the recording
	timeout  time.Duration // timeout of the pings
	results  chan error
	expected int // number of results that are still to come
}

// maxOperations is larger than the number of operations in any recording.
const maxOperations = 100

func newUsers(t *testing.T, s *stage, script *replay.Script, peer nid.NID, timeout time.Duration) *users {
	return &users{
		t: t, ctx: t.Context(), stage: s, script: script, peer: peer, timeout: cmp.Or(timeout, 25*time.Second),
		results: make(chan error, maxOperations),
	}
}

// run runs an operation in the background.
func (u *users) run(operation func() error) {
	u.expected++
	go func() { u.results <- operation() }()
}

// operate starts the operation that makes the node send a message. If m is nil, that is a ping
// that sent no message in the recording.
func (u *users) operate(m *capture.Record) {
	portal := uint32(wire.PingPortal)
	if m != nil {
		portal, _ = m.Portal()
	}
	isGet := m != nil && m.Header.Type == wire.Get
	switch {
	case m == nil || isGet && portal == wire.PingPortal && m.Header.Get().SinkLength != discoverySink:
		u.lnetctl("ping")
	case portal == wire.PingPortal && m.Header.Type == wire.Put:
		u.changeNetworks(m)
	case portal == wire.PingPortal:
		u.lnetctl("discover")
	case m.Header.Type == wire.Put:
		u.run(func() error { return u.put(m) })
	default:
		u.run(func() error { return u.get(m) })
	}
}

// discoverySink is the length that the GETs of discovery ask for.
const discoverySink = 272

func (u *users) lnetctl(command string) {
	u.run(func() error {
		out, err := u.stage.daemon.Lnetctl(u.ctx, command, "--timeout", u.timeout.String(), u.peer.String())
		if err == nil && !strings.Contains(out, "primary nid: "+u.peer.String()) {
			err = fmt.Errorf("lnetctl %s %v printed:\n%s", command, u.peer, out)
		}
		return err
	})
}

// changeNetworks adds the networks that a recorded push lists, and removes those that the push
// does not list.
func (u *users) changeNetworks(push *capture.Record) {
	info, _ := push.PingInfo()
	daemon := u.stage.daemon.Control()
	u.run(func() error {
		status, err := node.OpStatus.Call(u.ctx, daemon, control.None{})
		if err != nil {
			return err
		}
		own := map[nid.NID]bool{}
		for _, ni := range status.NIs {
			own[ni.NID] = !ni.NID.IsLo()
		}
		for _, ni := range info.NIs {
			if !own[ni.NID] {
				add := node.AddRequest{Networks: fmt.Sprintf("%v(%v)", ni.NID.Net(), ni.NID.Addr())}
				err = errors.Join(err, node.OpAddNetworks.Call(u.ctx, daemon, add))
			}
			own[ni.NID] = false
		}
		for id, gone := range own {
			if gone {
				removed, bad := node.OpRemoveNet.Call(u.ctx, daemon, node.RemoveRequest{Net: id.Net().String()})
				err = errors.Join(err, bad)
				for _, w := range removed.Warnings {
					err = errors.Join(err, errors.New(w))
				}
			}
		}
		return err
	})
}

func (u *users) put(m *capture.Record) error {
	c := m.Header.Put()
	return node.OpPut.CallWith(u.ctx, u.stage.daemon.Control(), node.PutRequest{
		Target: nid.ProcessID{NID: m.Header.DestNID, PID: m.Header.DestPID},
		Portal: int(c.Portal), MatchBits: node.Bits(c.MatchBits), HdrData: node.Bits(c.HdrData),
		Offset: c.Offset, Ack: !c.AckMD.IsNone(),
	}, bytes.NewReader(m.Payload), ignoreStep)
}

func (u *users) get(m *capture.Record) error {
	c := m.Header.Get()
	var got []byte
	err := node.OpGet.Call(u.ctx, u.stage.daemon.Control(), node.GetRequest{
		Target: nid.ProcessID{NID: m.Header.DestNID, PID: m.Header.DestPID},
		Portal: int(c.Portal), MatchBits: node.Bits(c.MatchBits), Offset: c.SrcOffset, Length: uint64(c.SinkLength),
	}, func(s node.Step) error { got = append(got, s.Payload...); return nil })
	if want := u.replyTo(m); err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("REPLY with %d bytes, want %d; or others", len(got), len(want))
	}
	return err
}

func ignoreStep(node.Step) error { return nil }

// replyTo returns the payload of the recorded REPLY to a GET.
func (u *users) replyTo(get *capture.Record) []byte {
	for _, e := range u.script.Events {
		if r := e.Record; r != nil && r.Kind == capture.Message && r.Header.Type == wire.Reply &&
			r.Header.Reply().DstMD == get.Header.Get().ReturnMD {
			return r.Payload
		}
	}
	return nil
}

// entry identifies match entries for messages of the player.
type entry struct {
	portal uint32
	bits   uint64
}

// post attaches the match entries that the recorded node had for the player's messages: one that
// accepts the PUTs, and one with content for each GET.
func (u *users) post() {
	puts := map[entry][][]byte{}
	for _, e := range u.script.Events {
		if e.Record == nil || u.script.Conns[e.Conn].Ends[e.From].Addr() != u.stage.playerAddr {
			continue
		}
		portal, is := e.Record.Portal()
		switch {
		case !is || portal == wire.PingPortal:
		case e.Record.Header.Type == wire.Put:
			at := entry{portal, e.Record.Header.Put().MatchBits}
			puts[at] = append(puts[at], e.Record.Payload)
		default:
			u.serve(e.Record)
		}
	}
	for at, payloads := range puts {
		u.sink(at, payloads)
	}
}

func (u *users) serve(get *capture.Record) {
	c := get.Header.Get()
	r := node.ServeRequest{Portal: int(c.Portal), MatchBits: node.Bits(c.MatchBits), Count: 1}
	content := bytes.NewReader(u.replyTo(get))
	u.ready(func(report node.Report) error {
		return node.OpServe.CallWith(u.ctx, u.stage.daemon.Control(), r, content, report)
	}, ignoreStep)
}

func (u *users) sink(at entry, want [][]byte) {
	r := node.SinkRequest{Portal: int(at.portal), MatchBits: node.Bits(at.bits), Count: len(want)}
	u.ready(func(report node.Report) error { return node.OpSink.Call(u.ctx, u.stage.daemon.Control(), r, report) }, func(s node.Step) error {
		if !bytes.Equal(s.Payload, want[0]) {
			return fmt.Errorf("PUT to portal %d, match bits %#x: %d bytes, want %d; or others", at.portal, at.bits, len(s.Payload), len(want[0]))
		}
		want = want[1:]
		return nil
	})
}

// ready starts an operation that receives messages, such as a Sink, and returns when its match entry is
// attached.
func (u *users) ready(operation func(node.Report) error, report node.Report) {
	u.t.Helper()
	ready := make(chan struct{})
	u.run(func() error {
		return operation(func(s node.Step) error {
			if s.Ready {
				close(ready)
				return nil
			}
			return report(s)
		})
	})
	select {
	case <-ready:
	case err := <-u.results:
		u.t.Fatalf("post: %v", err)
	}
}

// wait waits for all operations, and checks that exactly the given number of them fail.
func (u *users) wait(failures int) {
	u.t.Helper()
	late := time.After(atOnce)
	for range u.expected {
		select {
		case err := <-u.results:
			if err == nil {
				continue
			}
			if failures--; failures < 0 {
				u.t.Error(err)
			}
		case <-late:
			u.t.Fatal("an operation does not end")
		}
	}
	if failures > 0 {
		u.t.Errorf("%d more operations should have failed", failures)
	}
}

// failures returns the errors of the operations that have ended so far.
func (u *users) failures() (errs []error) {
	for {
		select {
		case err := <-u.results:
			if err != nil {
				errs = append(errs, err)
			}
		default:
			return errs
		}
	}
}
