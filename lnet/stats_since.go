package lnet

import "maps"

// Since returns what was counted since t was taken. MsgsAlloc and MsgsMax, which are no counters,
// stay as they are. No counter becomes less than 0: those of a router are differences of counters that are not read at
// the same instant.
func (s Stats) Since(t Stats) Stats {
	from := t.counters()
	for i, c := range s.counters() {
		*c -= min(*c, *from[i])
	}
	s.DropReasons = maps.Clone(s.DropReasons)
	for why := range s.DropReasons { // any order: reasons are independent
		if s.DropReasons[why] -= min(s.DropReasons[why], t.DropReasons[why]); s.DropReasons[why] == 0 {
			delete(s.DropReasons, why)
		}
	}
	return s
}

// counters are the fields of s that only grow.
func (s *Stats) counters() []*uint64 {
	f := &s.FailureStats
	return []*uint64{
		&s.Errors, &s.SendCount, &s.SendRefused, &s.ResponseTimeouts, &s.RecvCount, &s.RouteCount, &s.DropCount,
		&s.SendLength, &s.RecvLength, &s.RouteLength, &s.DropLength,
		&f.ResendCount, &f.SuccessfulResends, &f.FailedResends, &f.LocalInterrupt, &f.LocalDropped, &f.LocalAborted,
		&f.LocalNoRoute, &f.LocalTimeout, &f.LocalError, &f.RemoteDropped, &f.RemoteError, &f.RemoteTimeout, &f.NetworkTimeout,
	}
}
