package discovery

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/router"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// Features are the feature bits of a node that answers pings and no more:
// peers treat each of its NIDs as a node of its own and push nothing.
const Features = wire.FeatureNIStatus | wire.FeatureRoutingDisabled

// PeerFeatures are the feature bits of a node with an [Agent]. They say that the node does not
// route, and that its discovery is on; a node without FeatureDiscovery has turned its discovery
// off.
const PeerFeatures = Features | wire.FeatureMultiRail | wire.FeatureDiscovery

// Target answers pings (ln_ping_target). It follows the node's NIs: each change of their list,
// and of the link of one, is published under the next sequence number. The rate of publications
// because of links is limited, see statusBurst.
type Target struct {
	table     *portals.Table
	published func(wire.PingInfo) // called after each change; may be nil

	mu       sync.Mutex // held while entry is replaced, so that of two changes at once the later info is the one that stays
	features wire.Features
	info     wire.PingInfo // the ping info with which entry answers
	spent    time.Duration // when the rate of changes of links allows a full burst again
	later    bool          // a timer is set that will publish a change of a link
	entry    portals.MEHandle
	retired  []portals.MEHandle // earlier match entries, the oldest first
}

// A link that flaps causes a burst of publications, and then one in each interval: each
// is a push to every peer. The last state is always published. Local policy.
const (
	statusBurst    = 4
	statusInterval = time.Second
)

// maxRetired bounds the number of earlier match entries.
const maxRetired = 256

// NewTarget makes a Target, which starts to answer pings. Call it after 0@lo was added and
// before the other NIs, so that its sequence numbers count like a kernel's: 1 is the list with
// 0@lo alone, and a node with one NI answers with 2.
func NewTarget(table *portals.Table) (*Target, error) { return newTarget(table, Features, nil) }

func newTarget(table *portals.Table, features wire.Features, published func(wire.PingInfo)) (*Target, error) {
	t := &Target{table: table, features: features, published: published}
	if err := t.publish(); err != nil {
		return nil, err
	}
	table.Node().OnNIChange(t.update)
	return t, nil
}

// update publishes a change. If that fails, pings are still answered with the old info.
func (t *Target) update() {
	if !t.mayPublish() {
		return
	}
	if err := t.publish(); err != nil {
		t.table.Node().Log().Error("ping info not updated", slog.Any("err", err))
	}
}

// setFeatures changes the feature bits of the info.
func (t *Target) setFeatures(f wire.Features) {
	t.mu.Lock()
	same := t.features == f
	t.features = f
	t.mu.Unlock()
	if !same {
		t.update()
	}
}

// Info returns what a ping is answered with at the moment.
func (t *Target) Info() wire.PingInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	info := t.info
	info.NIs = slices.Clone(info.NIs)
	return info
}

// next returns the ping info for the present state of the node. The caller holds t.mu.
func (t *Target) next() wire.PingInfo {
	info := wire.PingInfo{Features: t.allFeatures(), PID: t.table.Node().PID(), Sequence: t.info.Sequence + 1}
	for _, ni := range t.table.Node().NIs() {
		if !ni.NID().IsLo() {
			info.NIs = append(info.NIs, wire.NIStatus{NID: ni.NID(), Status: ni.Status()})
		}
	}
	return info
}

// allFeatures returns the feature bits; a router's are without wire.FeatureRoutingDisabled.
// The caller holds t.mu.
func (t *Target) allFeatures() wire.Features {
	if t.table.Node().RoutingMode() == router.On {
		return t.features &^ wire.FeatureRoutingDisabled
	}
	return t.features
}

// publish replaces the ping info with which this node answers pings. The new match entry comes before the old
// one in the list, and the old one stays for a while, so that every ping matches one of them. REPLYs under way
// keep the memory of the old one.
func (t *Target) publish() error {
	info, err := t.replace()
	if err == nil && t.published != nil {
		t.published(info)
	}
	return err
}

func (t *Target) replace() (info wire.PingInfo, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	info = t.next()
	bytes, err := info.AppendBinary(nil)
	if err != nil {
		return info, fmt.Errorf("encode ping info: %w", err)
	}
	entry, err := t.attach(bytes)
	if err != nil {
		return info, fmt.Errorf("attach ping target: %w", err)
	}
	old := t.entry
	t.entry, t.info = entry, info
	if old != 0 {
		t.retire(old)
	}
	return info, nil
}

// retire unlinks an entry once no REPLY from it can be waiting for credits any more. Unlinking
// it earlier would cancel such a REPLY, and its peer would wait in vain. Until then the entry
// takes no ping, since the next entry stands before it. The caller holds t.mu.
func (t *Target) retire(old portals.MEHandle) {
	t.retired = append(t.retired, old)
	if len(t.retired) > maxRetired {
		_ = t.table.MEUnlink(t.retired[0])
		t.retired = slices.Delete(t.retired, 0, 1)
	}
	node := t.table.Node()
	node.Clock().AfterFunc(node.TransactionTimeout(), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if i := slices.Index(t.retired, old); i >= 0 {
			t.retired = slices.Delete(t.retired, i, i+1)
			_ = t.table.MEUnlink(old)
		}
	})
}

func (t *Target) attach(info []byte) (portals.MEHandle, error) {
	entry, err := t.table.MEAttach(wire.PingPortal, portals.Match{Bits: wire.PingMatchBits}, portals.Unlink, portals.Before)
	if err != nil {
		return 0, err
	}
	if _, err = t.table.MDAttach(entry, portals.MD{
		Segments:  []lnd.Segment{info},
		Threshold: portals.ThresholdInfinite,
		Options:   portals.OpGet | portals.Truncate | portals.ManageRemote,
	}, portals.Retain); err != nil {
		return 0, errors.Join(err, t.table.MEUnlink(entry))
	}
	return entry, nil
}
