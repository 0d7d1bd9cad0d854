package path

import (
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// NIDs of this node, of a peer with three rails, and of gateways.
const (
	here0, here0b, here1 = "10.0.0.1@tcp", "10.0.0.2@tcp", "10.1.0.1@tcp1"
	peer0, peer1, peer2  = "10.0.0.9@tcp", "10.1.0.9@tcp1", "10.2.0.9@tcp2"
	gate0, gate0b, gate1 = "10.0.0.7@tcp", "10.0.0.8@tcp", "10.1.0.7@tcp1"
)

// TestFixedSource: if the source of a message is given and is on the net of its destination, the message goes from
// this NID to that NID, for any kind of message, whatever the health and the links of the two.
func TestFixedSource(t *testing.T) {
	spec.Covers(t, "SP-1")
	w := newWorld(t, here0, here0b, here1)
	w.locals[here0b].SetDown(true)
	w.peer(true, peer0, peer1)
	w.remote(peer0).SetHealth(0)
	for kind := Request; kind <= Forward; kind++ {
		w.want(w.query(kind, here0b, peer0), 1, here0b, peer0, peer0)
	}
	w.wantError(w.query(Request, "10.0.0.3@tcp", peer0), syscall.EINVAL)
	w.wantError(w.query(Request, here0, peer1), syscall.EHOSTUNREACH)
	w.wantError(w.query(Request, here0, "fd00::1@tcp"), syscall.EHOSTUNREACH)
}

// TestFixedSourceRouted: a message to another net goes by a gateway on the net of its source,
// never to another NID of the peer.
func TestFixedSourceRouted(t *testing.T) {
	spec.Covers(t, "SP-2")
	w := newWorld(t, here0, here1)
	w.peer(true, peer2, peer0)
	near, far := w.route("tcp2", gate1), w.route("tcp2", gate0)
	near.Priority = 0
	far.Priority = 7
	w.want(w.query(Request, here0, peer2), 1, here0, gate0, peer2)
	w.want(w.query(Request, here1, peer2), 2, here1, gate1, peer2)
	far.SetAlive(false)
	w.wantError(w.query(Request, here0, peer2), syscall.EHOSTUNREACH)
	w.peer(true, gate1, gate0b) // the node of gate1 has a NID on the net of the source, too
	w.want(w.query(Request, here0, peer2), 3, here0, gate0b, peer2)
}

// TestRemembered: a peer that is not multi-rail, or not known, gets each message at the NID to
// which the message is addressed, and always from one NI. That is the NI that was chosen for
// the first message that was neither a response nor a ping.
func TestRemembered(t *testing.T) {
	spec.Covers(t, "SP-3")
	w := newWorld(t, here0, here0b)
	w.peer(false, peer0, "10.0.0.10@tcp")
	for at, kind := range []Kind{Reserved, Response, Recovery} {
		from := []string{here0, here0b}[at%2]
		w.want(w.query(kind, "", peer0), uint64(at+1), from, peer0, peer0)
	}
	w.want(w.query(Request, "", peer0), 4, here0b, peer0, peer0)
	for kind := Request; kind <= Forward; kind++ {
		w.want(w.query(kind, "", peer0), 5, here0b, peer0, peer0)
	}
	w.locals[here0b].SetHealth(1)
	w.want(w.query(Request, "", peer0), 6, here0b, peer0, peer0)
	w.locals[here0b].SetDown(true)
	w.want(w.query(Request, "", peer0), 7, here0, peer0, peer0)
	w.locals[here0b].SetDown(false)
	w.want(w.query(Request, "", peer0), 8, here0, peer0, peer0)

	w = newWorld(t, here0, here0b)
	w.want(w.query(Request, "", peer0), 1, here0, peer0, peer0)
	w.want(w.query(Request, "", peer0), 2, here0, peer0, peer0)
	w.want(w.query(Forward, "", "10.0.0.11@tcp"), 3, here0b, "10.0.0.11@tcp", "10.0.0.11@tcp")
	w.want(w.query(Forward, "", "10.0.0.11@tcp"), 4, here0b, "10.0.0.11@tcp", "10.0.0.11@tcp")
}

// TestForgottenSource: an NI that has left the node is not used as the source any more.
func TestForgottenSource(t *testing.T) {
	w := newWorld(t, here0)
	w.want(w.query(Request, "", peer0), 1, here0, peer0, peer0)
	w.table = newWorld(t, here0b).table
	w.want(w.query(Request, "", peer0), 2, here0b, peer0, peer0)
	w.table = newWorld(t, here1).table
	w.route("tcp", gate1)
	w.want(w.query(Request, "", peer0), 3, here1, gate1, peer0)
}

// TestOverRails: requests to a multi-rail peer use all rails of both nodes in turn, whichever
// NID they are addressed to.
func TestOverRails(t *testing.T) {
	spec.Covers(t, "SP-4")
	w := newWorld(t, here0, here0b, here1)
	w.peer(true, peer2, peer0, "10.0.0.10@tcp", peer1)
	for at := uint64(0); at < 8; at += 4 {
		for i, to := range []string{peer0, peer1, peer2, peer1} {
			from := [][2]string{{here0, peer0}, {here1, peer1}, {here0b, "10.0.0.10@tcp"}, {here1, peer1}}[i]
			w.want(w.query(Request, "", to), at+uint64(i)+1, from[0], from[1], from[1])
		}
	}
	w.locals[here1].SetDown(true)
	w.want(w.query(Request, "", peer1), 9, here0, peer0, peer0)
}

// TestBeyondRails: a multi-rail peer that shares no net with this node gets messages at a NID
// on the best of its nets to which there are routes.
func TestBeyondRails(t *testing.T) {
	spec.Covers(t, "SP-5")
	const far3, far4 = "10.3.0.9@tcp3", "10.4.0.9@tcp4"
	w := newWorld(t, here0)
	w.peer(true, peer2, far3, far4)
	w.wantError(w.query(Request, "", peer2), syscall.EHOSTUNREACH)
	w.route("tcp3", gate0)
	g := w.route("tcp4", gate0)
	w.want(w.query(Request, "", peer2), 1, here0, gate0, far3)
	w.want(w.query(Request, "", peer2), 2, here0, gate0, far4)
	w.want(w.query(Request, "", peer2), 3, here0, gate0, far3)
	w.remote(far3).SetHealth(999)
	w.want(w.query(Request, "", far3), 4, here0, gate0, far4)
	g.SetAlive(false)
	w.want(w.query(Request, "", far3), 5, here0, gate0, far3)
}

// TestResponse: a response to a multi-rail peer goes to the NID that the request came from,
// by the best NI on the net of that NID or by a route.
func TestResponse(t *testing.T) {
	spec.Covers(t, "SP-6")
	w := newWorld(t, here0, here0b, here1)
	w.peer(true, peer0, peer1, peer2)
	w.remote(peer0).SetHealth(0)
	w.want(w.query(Response, "", peer0), 1, here0, peer0, peer0)
	w.want(w.query(Response, "", peer0), 2, here0b, peer0, peer0)
	w.wantError(w.query(Response, "", peer2), syscall.EHOSTUNREACH)
	w.route("tcp2", gate1)
	w.want(w.query(Response, "", peer2), 3, here1, gate1, peer2)
}

// TestRoutedSource: a peer that is not multi-rail and is reached by a gateway gets all messages from
// one NI, as long as a route begins at that NI.
func TestRoutedSource(t *testing.T) {
	spec.Covers(t, "SP-7")
	w := newWorld(t, here0, here1)
	w.peer(false, peer2)
	w.route("tcp2", gate0)
	g := w.route("tcp2", gate1)
	w.want(w.query(Reserved, "", peer2), 1, here0, gate0, peer2)
	w.want(w.query(Request, "", peer2), 2, here1, gate1, peer2)
	w.want(w.query(Request, "", peer2), 3, here1, gate1, peer2)
	g.SetAlive(false)
	w.want(w.query(Request, "", peer2), 4, here0, gate0, peer2)
	g.SetAlive(true)
	w.want(w.query(Request, "", peer2), 5, here0, gate0, peer2)
}

// TestRecovery: a recovery ping goes to the NID whose health it tests.
func TestRecovery(t *testing.T) {
	spec.Covers(t, "SP-8")
	w := newWorld(t, here0, here1)
	w.peer(true, peer0, peer1)
	w.remote(peer1).SetHealth(0)
	w.remote(peer1).SetDown(true)
	for at := range uint64(3) {
		w.want(w.query(Recovery, "", peer1), at+1, here1, peer1, peer1)
	}
}

// TestReserved: a ping goes to the NID to which it is addressed, unless another NID of the
// node is better.
func TestReserved(t *testing.T) {
	spec.Covers(t, "SP-15")
	w := newWorld(t, here0, here1)
	w.peer(true, peer0, peer1, peer2)
	for at := range uint64(3) {
		w.want(w.query(Reserved, "", peer1), at+1, here1, peer1, peer1)
	}
	w.want(w.query(Reserved, "", peer2), 4, here0, peer0, peer0)
	w.remote(peer1).SetHealth(999)
	w.want(w.query(Reserved, "", peer1), 5, here0, peer0, peer0)
	w.remote(peer1).SetHealth(MaxHealth)
	w.locals[here1].SetDown(true)
	w.want(w.query(Reserved, "", peer1), 6, here0, peer0, peer0)
}

// TestAnySource checks that the wildcard cannot be the source.
func TestAnySource(t *testing.T) {
	w := newWorld(t, here0)
	w.want(&Query{Source: nid.Any(), Dest: nid.MustParse(peer0)}, 1, here0, peer0, peer0)
}
