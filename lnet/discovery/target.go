// Package discovery lets nodes ask each other who they are: the ping target,
// which answers, and [Ping], which asks. Both are users of the portal API like
// any other, on portal 0.
//
// A ping is a GET of the target's ping info: its features, its pid and its
// NIDs with their states. Kernel nodes ping every new peer before their first
// real message to it, so a node without a target is not reached by them.
//
// The features that a node advertises here are NI_STATUS and RTE_DISABLED: it
// reports the state of its NIs and does not route. It does not claim to be
// multi-rail, so kernel nodes treat each of its NIDs as a peer of its own and
// send it no pushes.
package discovery

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"ulnet/lnd"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// Features are the feature bits of this node's ping info.
const Features = wire.FeatureNIStatus | wire.FeatureRoutingDisabled

// Target answers pings (ln_ping_target). It follows the node's NIs: each
// change of their list is published under the next sequence number.
type Target struct {
	table *portals.Table

	mu       sync.Mutex // held across the swap of entries, so that they stay in order
	sequence uint32
	entry    portals.MEHandle
}

// NewTarget starts answering pings. Make it after 0@lo and before the other
// NIs, so that its sequence numbers count like a kernel's: 1 is the list with
// 0@lo alone, and a node with one NI answers with 2.
func NewTarget(table *portals.Table) (*Target, error) {
	t := &Target{table: table}
	if err := t.publish(); err != nil {
		return nil, err
	}
	table.Node().OnNIChange(func() {
		if err := t.publish(); err != nil {
			table.Node().Log().Error("ping info not updated", slog.Any("err", err))
		}
	})
	return t, nil
}

// Info returns what a ping is answered with at the moment.
func (t *Target) Info() wire.PingInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.info()
}

func (t *Target) info() wire.PingInfo {
	info := wire.PingInfo{Features: Features, PID: t.table.Node().PID(), Sequence: t.sequence}
	for _, ni := range t.table.Node().NIs() {
		if !ni.NID().IsLo() {
			info.NIs = append(info.NIs, wire.NIStatus{NID: ni.NID(), Status: wire.StatusUp})
		}
	}
	return info
}

// publish replaces the answer. The new entry stands before the old one until
// that is gone, so every ping finds one of them; REPLYs under way keep the old
// memory.
func (t *Target) publish() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sequence++
	info, err := t.info().AppendBinary(nil)
	if err != nil {
		return fmt.Errorf("encode ping info: %w", err)
	}
	entry, err := t.table.MEAttach(wire.PingPortal, portals.Match{Bits: wire.PingMatchBits}, portals.Unlink, portals.Before)
	if err != nil {
		return fmt.Errorf("attach ping target: %w", err)
	}
	if _, err = t.table.MDAttach(entry, portals.MD{
		Segments:  []lnd.Segment{info},
		Threshold: portals.ThresholdInfinite,
		Options:   portals.OpGet | portals.Truncate | portals.ManageRemote,
	}, portals.Retain); err != nil {
		return errors.Join(fmt.Errorf("attach ping target: %w", err), t.table.MEUnlink(entry))
	}
	old := t.entry
	t.entry = entry
	if old != 0 {
		return t.table.MEUnlink(old)
	}
	return nil
}
