package lnet_test

import (
	"fmt"
	"testing"

	"ulnet/lnet"
)

// TestDropReasonWords has the word of each reason, by which monitoring and JSON count drops.
func TestDropReasonWords(t *testing.T) {
	words := map[lnet.DropReason]string{
		lnet.NotDropped:       "not dropped",
		lnet.BadType:          "bad type",
		lnet.BadPayload:       "bad payload length",
		lnet.NotDirect:        "not direct",
		lnet.WrongNI:          "wrong NI",
		lnet.RoutingOff:       "routing off",
		lnet.BadSource:        "bad source",
		lnet.BadPortal:        "bad portal",
		lnet.NoMatch:          "no match",
		lnet.TooLong:          "too long",
		lnet.StaleHandle:      "stale handle",
		lnet.InactiveMD:       "inactive MD",
		lnet.LazyFull:         "lazy queue full",
		lnet.LazyCleared:      "lazy portal cleared",
		lnet.NIShutdown:       "NI shutdown",
		lnet.PeerGone:         "peer gone",
		lnet.PeerTableFull:    "peer table full",
		lnet.SimulatedFailure: "simulated failure",
		lnet.NoMulticast:      "no multicast",
		lnet.LazyMulticast:    "multicast at a lazy portal",
		lnet.ForeignSource:    "foreign source",
		lnet.NotAsked:         "not asked",
		lnet.NoRoute:          "no route",
		lnet.RouteLoop:        "route loop",
		lnet.NeedlessDetour:   "needless detour",
		lnet.NextHopStalled:   "next hop stalled",
		lnet.NextHopDead:      "next hop dead",
		lnet.RoutingStopped:   "routing stopped",
		lnet.TransitCut:       "transit cut",
		lnet.ForwardFailed:    "forward failed",
		lnet.HandlerBusy:      "handler busy",
		lnet.DropRule:         "drop rule",
		lnet.AsymmetricRoute:  "asymmetric route",
		lnet.AnswersUnread:    "answers unread",
	}
	for r, want := range words {
		if r.String() != want {
			t.Errorf("reason %d is called %q, want %q", uint8(r), r, want)
		}
	}
	if next := lnet.DropReason(len(words)); next.String() != fmt.Sprintf("reason %d", len(words)) {
		t.Errorf("the table does not have the reason %q", next)
	}
}

// TestPeerStateWords has the words of the states of a peer, which lnetctl shows.
func TestPeerStateWords(t *testing.T) {
	for s, want := range map[lnet.PeerState]string{
		lnet.PeerStateUnknown: "NA", lnet.PeerStateUp: "up", lnet.PeerStateDown: "down",
	} {
		if s.String() != want {
			t.Errorf("state %d is called %q, want %q", uint8(s), s, want)
		}
	}
}
