package node

import (
	"path/filepath"
	"slices"
	"time"

	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/drivers"
	"ulnet/lnd"
	"ulnet/lnd/fault"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// Status is a node's state without its peers, which PeerPage has. `net show` and
// `stats show` print it.
type Status struct {
	PID nid.PID `json:"pid"` // PID of the node in LNet
	// Incarnation is the number of this incarnation of the node, higher than all earlier ones.
	Incarnation uint64     `json:"incarnation"`
	Networks    string     `json:"networks"`            // networks string, as configured
	LNetConf    string     `json:"lnet_conf,omitempty"` // absolute path of the file that the node imports when it starts and when LNet is configured again
	SourceCheck bool       `json:"source_check"`        // messages whose source is not the peer of their connection are dropped
	NIs         []NIStatus `json:"nis"`                 // NIs in the order of the configuration
	Stats       lnet.Stats `json:"statistics"`          // counters of the node since it started, or since they were reset
	// Latency is how long PUTs and GETs of the node took since it started, measured for one in 64.
	Latency portals.Latencies `json:"latency"`
	// Discovery are the counters of discovery.
	Discovery        discovery.Stats     `json:"discovery"`
	Faults           Faults              `json:"faults"`                 // faults that are injected at present
	Health           lnet.HealthSettings `json:"health"`                 // settings of health
	Recovery         discovery.Recovery  `json:"recovery"`               // NIs that are not healthy, which the node pings
	Clock            time.Duration       `json:"clock"`                  // present time of the clock that the times in Recovery refer to
	ResponseTracking int                 `json:"response_tracking"`      // bits of lnet_response_tracking; 0: only MDs that ask for it are tracked
	Routing          RouteTunables       `json:"route_tunables"`         // the tunables of routes
	DiscoveryOn      bool                `json:"discovery_on"`           // this node discovers its peers
	Unconfigured     bool                `json:"unconfigured,omitempty"` // LNet has been taken down by command
	NUMARange        int                 `json:"numa_range"`             // value of numa_range, which is kept but has no effect
	MaxInterfaces    int                 `json:"max_interfaces"`         // largest number of a peer's NIs, 0@lo included
	// Changes counts the beginnings and the ends of reloads, imports of LNetConf, and Configure; odd: one of them is
	// running. A client that reads the configuration by several requests compares it before and after (sequence lock).
	Changes uint64 `json:"changes"`
}

// NIStatus is one NI with the state of its driver. The field Interface is the name of the
// network interface that has the NI's address, even if the NI was configured with that address.
type NIStatus struct {
	lnet.NISnapshot
	LND drivers.Status `json:"lnd,omitzero"`  // state of the driver; zero for 0@lo
	CPT string         `json:"cpt,omitempty"` // CPU partitions that the NI was given; kept, without effect
	// StartedOn is the name of the interface, or the address, with which the NI was started. It stays when the
	// interface loses the NI's address, or goes. Absent: the driver chose the interface.
	StartedOn string `json:"started_on,omitempty"`
	// ByAddress means that the name of the interface does not stand for the NI's address, so that a
	// configuration must name the NI by its address.
	ByAddress bool `json:"by_address,omitempty"`
}

// absolute returns the absolute path of a file, "" for none. A relative one is relative to the folder in which lnetd was
// started, where its clients need not be.
func absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Status returns the node's state.
func (n *Node) Status() Status {
	changes := n.changes.Load() // before the rest, so that a change meanwhile shows in a comparison with a later number
	s := n.lnet.Overview()
	status := Status{Changes: changes, PID: s.PID, Incarnation: n.lnet.Incarnation(), Networks: n.current.Load().Networks, LNetConf: absolute(n.current.Load().LNetConf), SourceCheck: n.cfg.SourceCheck, Stats: n.statsNow(s.Stats)}
	status.Discovery, status.Latency = n.base.Discovery().Stats(), n.table.Latencies()
	status.Faults = n.faults()
	status.Health, status.Recovery, status.Clock = n.lnet.Health(), n.base.Discovery().Recovery(), n.clock.Now()
	status.Unconfigured = n.unconfigured.Load()
	status.NUMARange, status.MaxInterfaces = int(n.limits.numaRange.Load()), int(n.limits.maxInterfaces.Load())
	status.ResponseTracking, status.DiscoveryOn = n.lnet.ResponseTracking(), n.base.Discovery().Discovery()
	status.Routing = n.routeTunables()
	names := newInterfaceNames()
	for _, ni := range s.NIs {
		ni.Interface = ""
		if !ni.NID.IsLo() {
			ni.Interface = names.of(ni.NID)
		}
		from := n.origins.of(ni.NID)
		s := NIStatus{NISnapshot: ni, LND: n.lndStatus(ni.Lower), CPT: from.cpt, StartedOn: from.on}
		s.ByAddress = !ni.NID.IsLo() && !names.stands(ni.Interface, ni.NID)
		status.NIs = append(status.NIs, s)
	}
	return status
}

// find returns the NI of a net that ni describes: the NI with its NID, or the one that was started with the name
// of one of its interfaces, or else the one that has an address of such an interface now. It returns nil if there is none.
func (s Status) find(net string, ni *tree.NI) *NIStatus {
	for _, is := range []func(NIStatus) bool{
		func(has NIStatus) bool { return has.NID == ni.NID },
		func(has NIStatus) bool { return slices.Contains(ni.Interfaces, has.StartedOn) },
		func(has NIStatus) bool { return slices.Contains(ni.Interfaces, has.Interface) },
	} {
		if i := slices.IndexFunc(s.NIs, func(has NIStatus) bool { return has.Net == net && is(has) }); i >= 0 {
			return &s.NIs[i]
		}
	}
	return nil
}

// lndStatus returns the driver's state of an NI.
func (n *Node) lndStatus(ni lnd.NI) (s drivers.Status) {
	for _, of := range n.statuses {
		if own := of(fault.Unwrap(ni)); own != nil {
			return *own
		}
	}
	return s
}
