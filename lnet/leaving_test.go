package lnet_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
)

// wantsACK makes an arriving PUT one that wants an ACK.
func wantsACK(h *wire.Header) {
	h.SetPut(wire.PutCmd{AckMD: wire.MDHandle{Interface: 1, Object: 2}})
}

// leave removes the rig's NI from inside the upcall of d, a PUT that arrives, and then answers
// the PUT with message 5.
func (r *rig) leave(ctx context.Context, removed chan<- error, d *lnd.Delivery) {
	r.up.onDelivered = func(ni *lnet.NI) {
		go func() { removed <- r.node.RemoveNI(ctx, ni) }()
		synctest.Wait()
		answer := put(d.Header.SrcNID, 5)
		answer.Answers, answer.Asker = ni, d.From
		r.node.Send(answer)
		r.send(peerA, 6) // message 6 is not an answer, so the NI that is being removed refuses it
	}
	if _, err := r.ni.Parse(d); err != nil {
		r.t.Fatal(err)
	}
	r.ni.Delivered(d, nil)
	synctest.Wait()
}

// TestAnswerWhileLeaving: the handler of a message may remove the NI at once; the sender gets
// its answer nevertheless.
func TestAnswerWhileLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{}, lnet.Config{})
		removed := make(chan error, 1)
		r.leave(t.Context(), removed, arriving(wantsACK))
		if got := r.inFlight(); !slices.Equal(got, []uint64{5}) {
			t.Fatalf("the driver has %v, want the answer", got)
		}
		if len(removed) != 0 {
			t.Error("the NI was removed before the answer had left")
		}
		r.finalize(nil)
		if err := <-removed; err != nil {
			t.Error(err)
		}
		r.wantResult(5, nil)
		r.wantResult(6, syscall.EHOSTUNREACH)
	})
}

// TestRoutedAnswerWhileLeaving: a message came through a router to an NI that is then removed. Its answer still
// leaves by that NI, even if another NI of this node is on the net of the sender.
func TestRoutedAnswerWhileLeaving(t *testing.T) {
	spec.Covers(t, "PT-23")
	for _, others := range [][]nid.NID{nil, {self2}, {self1}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{SourceUnchecked: true})
			if err := r.node.AddRoute(route.New(tcp1, peerA)); err != nil {
				t.Fatal(err)
			}
			d := from(peerA, peer1)
			wantsACK(&d.Header)
			for _, id := range others {
				if _, err := r.node.AddNI(&driver{id: id}, lnd.Config{Net: id.Net()}); err != nil {
					t.Fatal(err)
				}
			}
			removed := make(chan error, 1)
			r.leave(t.Context(), removed, d)
			if got := r.inFlight(); !slices.Equal(got, []uint64{5}) {
				t.Fatalf("beside %v: the driver has %v, want the answer", others, got)
			}
			if m := r.sent[0]; m.Target.NID != peerA || m.Header.SrcNID != self || m.Header.DestNID != peer1 {
				t.Errorf("the answer from %v to %v goes to %v", m.Header.SrcNID, m.Header.DestNID, m.Target)
			}
			r.finalize(nil)
			if err := <-removed; err != nil {
				t.Error(err)
			}
			r.wantResult(5, nil)
		})
	}
}

// TestAnswerTooLate: RemoveNI returns an error when its context ends before the answer has
// left, and the answer fails.
func TestAnswerTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{}, lnet.Config{})
		removed := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		r.leave(ctx, removed, arriving(wantsACK))
		cancel()
		if err := <-removed; !errors.Is(err, context.Canceled) {
			t.Errorf("removed with %v, want %v", err, context.Canceled)
		}
		r.wantResult(5, syscall.ESHUTDOWN)
	})
}
