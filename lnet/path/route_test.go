package path

import (
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestSameWay: an answer goes by the router that brought the request, as long as that router is still a
// gateway. It does so even if the router is a gateway to another net only, or is down.
func TestSameWay(t *testing.T) {
	spec.Covers(t, "SP-13")
	w := newWorld(t, here0, here1)
	best := w.route("tcp2", gate0)
	second := w.route("tcp7", gate0b)
	second.Priority = 9
	second.SetAlive(false)
	answer := func(kind Kind, router string) *Query {
		q := w.query(kind, here0, peer2)
		q.Router = nid.MustParse(router)
		return q
	}
	w.want(answer(Response, gate0b), 1, here0, gate0b, peer2)
	w.want(answer(Request, gate0b), 2, here0, gate0, peer2)
	w.want(answer(Response, "10.0.0.77@tcp"), 3, here0, gate0, peer2)
	w.peer(true, gate0b, "10.0.0.77@tcp")
	w.want(answer(Response, "10.0.0.77@tcp"), 4, here0, "10.0.0.77@tcp", peer2)
	best.SetAlive(false)
	w.wantError(answer(Response, "10.0.0.66@tcp"), syscall.EHOSTUNREACH)
}

// TestGatewayNI: a gateway is reached at the best of its NIDs on the nets of this node,
// by the best of our NIs.
func TestGatewayNI(t *testing.T) {
	spec.Covers(t, "SP-14")
	w := newWorld(t, here0, here1)
	w.peer(true, gate0, gate1, peer2)
	w.route("tcp5", gate0)
	const far = "10.5.0.9@tcp5"
	w.want(w.query(Request, "", far), 1, here0, gate0, far)
	w.want(w.query(Request, "", far), 2, here1, gate1, far)
	w.want(w.query(Request, "", far), 3, here0, gate0, far)
	w.remote(gate1).SetHealth(500)
	w.want(w.query(Request, "", far), 4, here0, gate0, far)
	w.locals[here0].SetDown(true)
	w.remote(gate0).SetDown(true)
	w.want(w.query(Request, "", far), 5, here1, gate1, far)
	w.peer(false, gate0, gate1)
	w.want(w.query(Request, "", far), 6, here0, gate0, far)
}

// TestFixedSourceExplained: if there is no path from a fixed source to the destination, the
// explanation rejects all other NIs, because the message must not use them. That includes NIs
// on the net of the destination.
func TestFixedSourceExplained(t *testing.T) {
	w := newWorld(t, here0, here1)
	for _, c := range Explain(w.table, w.query(Request, here1, peer0)).Candidates {
		if want := map[bool]Reason{true: NotReached, false: Fixed}[c.Local.NID.String() == here1]; c.Why != want {
			t.Errorf("%v lost for %q, want %q", c.Local.NID, c.Why, want)
		}
	}
}

// TestNoRoute: there is no path to a net without routes, with a route that is down, or with a
// gateway on a net that this node is not on.
func TestNoRoute(t *testing.T) {
	w := newWorld(t, here0)
	w.wantError(w.query(Request, "", peer2), syscall.EHOSTUNREACH)
	w.route("tcp2", "10.8.0.1@tcp8")
	w.wantError(w.query(Request, "", peer2), syscall.EHOSTUNREACH)
	w.peer(true, "10.8.0.1@tcp8", "10.8.0.2@tcp9")
	w.wantError(w.query(Request, "", peer2), syscall.EHOSTUNREACH)
	w.route("tcp2", gate0).SetAlive(false)
	w.wantError(w.query(Request, "", peer2), syscall.EHOSTUNREACH)
	for _, c := range Explain(w.table, w.query(Request, "", peer2)).Candidates {
		if want := map[bool]Reason{true: Dead, false: NotReached}[c.Gateway != nil && c.Gateway.Router.String() == gate0]; c.Why != want {
			t.Errorf("%+v lost for %q, want %q", c, c.Why, want)
		}
	}
}
