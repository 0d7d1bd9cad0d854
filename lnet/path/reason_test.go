package path_test

import (
	"testing"

	"ulnet/lnet/path"
)

// TestReasons: `lnetctl path` and JSON have these words for the reasons why a candidate was not
// chosen.
func TestReasons(t *testing.T) {
	for r, want := range map[path.Reason]string{
		path.Chosen: "chosen", path.Fixed: "the message must not use it", path.Remembered: "the peer knows another NI",
		path.NotReached: "does not lead there", path.Dead: "route is down", path.LinkDown: "is down",
		path.WorseHealth: "lower health", path.WorsePriority: "higher priority value",
		path.NotPreferred: "a rule prefers the chosen one", path.MoreHops: "more hops",
		path.MoreBytes: "more bytes queued", path.FewerCredits: "fewer credits",
		path.MoreMessages: "more messages under way", path.UsedLater: "used later",
		path.ComesLater: "equal, comes later", path.NetLinkDown: "our link there is down", path.NetWorseHealth: "its net has lower health",
		path.NetWorsePriority: "its net has a higher priority value", path.NetUsedLater: "its net was used later",
	} {
		if text, err := r.MarshalText(); err != nil || string(text) != want || r.String() != want {
			t.Errorf("reason %d: %q, %v, want %q", uint8(r), text, err, want)
		}
	}
}
