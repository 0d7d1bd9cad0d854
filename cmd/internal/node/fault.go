package node

import (
	"errors"
	"fmt"
	"log/slog"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/fault"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// Faults are the faults that a node injects, for tests.
type Faults struct {
	Fail []lnet.FailedNID `json:"fail"` // NIDs whose messages fail, the oldest first
	Plan fault.Snapshot   `json:"plan"` // rules, partition and pause that are in effect
}

// Active reports whether any fault is injected.
func (f *Faults) Active() bool { return len(f.Fail) > 0 || f.Plan.Active() }

// FailRequest makes messages to and from a NID fail.
type FailRequest struct {
	NID   nid.NID `json:"nid"`   // NID of the messages; the wildcard: every NID
	Count int     `json:"count"` // number of messages that fail; negative: all, until it is set to 0
}

// Fail makes messages fail; see lnet.Node.FailNID. EINVAL: no NID. ENOSPC: the
// list is full.
func (n *Node) Fail(r FailRequest) error {
	err := n.lnet.FailNID(r.NID, r.Count)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return cli.Hint(fmt.Errorf("too many NIDs fail: %w", err), "'lnetctl fault fail _all_ --count 0' empties the list")
	case err != nil:
		return fmt.Errorf("fail %v: %w", r.NID, err)
	case r.Count != 0: // logged, because an operator would otherwise look for the loss in the network
		n.cfg.Log.Warn("messages fail on purpose", slog.Any("nid", r.NID), slog.Int("count", r.Count))
	}
	return nil
}

func (n *Node) faults() Faults { return Faults{n.lnet.FailedNIDs(), n.plan.Snapshot()} }

// isSimulated reports whether err comes from a Put or Get that failed because of Fail. Put and Get return no
// other EIO: real failures of the network are reported as events.
func isSimulated(err error) bool {
	call, ok := errors.AsType[*portals.OpError](err)
	return ok && errors.Is(call, syscall.EIO)
}

// explainSimulated adds a hint if a failure was injected.
func explainSimulated(err error) error {
	if !isSimulated(err) {
		return err
	}
	return cli.Hint(err, "messages there fail on purpose: see 'lnetctl fault list'")
}
