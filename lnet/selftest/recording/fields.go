package recording

import "ulnet/lnet/selftest/wire"

// bulkOf returns the field of a request with the match bits of its bulk data; nil: there is none.
func bulkOf(body wire.Body) *uint64 {
	switch b := body.(type) {
	case *wire.BRW:
		return &b.BulkID
	case *wire.Test:
		return &b.BulkID
	}
	return nil
}

// sessionOf returns the field of a message with the session; nil: there is none.
func sessionOf(body wire.Body) *wire.Session {
	switch b := body.(type) {
	case *wire.MakeSession:
		return &b.Session
	case *wire.MakeSessionReply:
		return &b.Session
	case *wire.RemoveSession:
		return &b.Session
	case *wire.RemoveSessionReply:
		return &b.Session
	case *wire.Debug:
		return &b.Session
	case *wire.DebugReply:
		return &b.Session
	case *wire.Stat:
		return &b.Session
	case *wire.StatReply:
		return &b.Session
	case *wire.Test:
		return &b.Session
	case *wire.TestReply:
		return &b.Session
	case *wire.Batch:
		return &b.Session
	case *wire.BatchReply:
		return &b.Session
	}
	return nil
}

// grown returns how counters of RPCs have grown.
func grown(now, before *wire.RPCStats) wire.RPCStats {
	return wire.RPCStats{
		Errors: now.Errors - before.Errors, Sent: now.Sent - before.Sent, Received: now.Received - before.Received,
		Dropped: now.Dropped - before.Dropped, Expired: now.Expired - before.Expired,
		BulkGet: now.BulkGet - before.BulkGet, BulkPut: now.BulkPut - before.BulkPut,
	}
}

// passed returns how the counters of LNet have grown, but for those that also fall.
func passed(now, before *wire.LNetStats) wire.LNetStats {
	return wire.LNetStats{
		Errors: now.Errors - before.Errors, Sent: now.Sent - before.Sent, Received: now.Received - before.Received,
		Routed: now.Routed - before.Routed, Dropped: now.Dropped - before.Dropped,
		SentBytes: now.SentBytes - before.SentBytes, ReceivedBytes: now.ReceivedBytes - before.ReceivedBytes,
		RoutedBytes: now.RoutedBytes - before.RoutedBytes, DroppedBytes: now.DroppedBytes - before.DroppedBytes,
	}
}
