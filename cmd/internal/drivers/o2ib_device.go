package drivers

import (
	"net/netip"
	"sync"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
)

// devices records the open RDMA devices by address, because their counters are shown.
type devices struct {
	mu     sync.Mutex
	byAddr map[netip.Addr]verbs.Device // open devices by address; guarded by mu
}

// watch returns an opener that also records the devices that it opens.
func (d *devices) watch(open verbs.Opener) verbs.Opener {
	if open == nil {
		return nil // there is no provider that opens devices; the driver reports that when it starts an NI
	}
	return func(cfg verbs.OpenConfig) (verbs.Device, error) {
		dev, err := open(cfg)
		if err == nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.byAddr == nil {
				d.byAddr = map[netip.Addr]verbs.Device{}
			}
			d.byAddr[cfg.Addr.Unmap()] = dev
		}
		return dev, err
	}
}

// counters returns the counters, except those that are 0, of the device with the given address,
// by name. For hardware it returns none, since the command 'rdma statistic' shows those.
func (d *devices) counters(addr netip.Addr) map[string]uint64 {
	d.mu.Lock()
	dev := d.byAddr[addr]
	d.mu.Unlock()
	counting, ok := dev.(interface{ Stats() softroce.Stats })
	if !ok {
		return nil
	}
	all := counterWords(counting.Stats())
	for word, n := range all {
		if n == 0 {
			delete(all, word)
		}
	}
	return all
}

func counterWords(s softroce.Stats) map[string]uint64 {
	t, c := &s.Transport, &s.CM
	return map[string]uint64{
		"queue_pairs": uint64(s.QueuePairs), "regions": uint64(s.Regions), "cm_connections": uint64(s.Connections),
		"bad_icrc": s.BadICRC, "malformed": s.Malformed, "bad_pkey": s.BadPKey, "unknown_qp": s.UnknownQP,
		"strays": s.Strays, "unsent": s.Unsent, "no_room": s.Full, "bad_qkey": s.BadQKey + s.Datagrams.BadQKey,

		"duplicates": t.Duplicates, "ahead": t.Ahead, "no_buffer": t.NoBuffer, "refused": t.Refused, "ghosts": t.Ghosts,
		"resent": t.Resent, "probes": t.Probes, "timeouts": t.Timeouts, "naks": t.Naks, "rnr_naks": t.RNRNaks, "foreign": t.Foreign,

		"cm_malformed": c.Malformed, "cm_ignored": c.Ignored, "cm_unknown": c.Unknown, "cm_forged": c.Forged,
		"cm_out_of_state": c.OutOfState, "cm_duplicates": c.Duplicates, "cm_resent": c.Resent, "cm_refused": c.Refused,
		"cm_stale": c.Stale, "cm_timed_out": c.TimedOut, "cm_crowded": c.Crowded,

		"datagrams_failed": s.Datagrams.Failed, "datagrams_no_buffer": s.Datagrams.NoBuffer, "datagrams_missed": s.Groups.Missed,
	}
}
