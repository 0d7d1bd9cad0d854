package metrics

import (
	"ulnet/lnet"
)

// nodeTable has what 'lnetctl stats show' shows. Unlike that command's output, the metrics are not reset by
// 'lnetctl stats reset'.
func nodeTable() []group {
	type stats = *lnet.Stats
	return []group{
		&objects[stats]{each: func(s *state, yield func(stats, ...string)) { yield(&s.stats) }, rows: []row[stats]{
			{"messages_in_flight", "messages", "Messages that are being sent now.", func(s stats) float64 { return number(s.MsgsAlloc) }},
			{"messages_in_flight_max", "messages", "Highest number of messages that were being sent at a time.", func(s stats) float64 { return number(s.MsgsMax) }},
			{"sent_messages_total", "messages", "Messages that left.", func(s stats) float64 { return number(s.SendCount) }},
			{"sent_bytes_total", "bytes", "Payload bytes of the messages that left.", func(s stats) float64 { return number(s.SendLength) }},
			{"received_messages_total", "messages", "Messages that arrived and were accepted.", func(s stats) float64 { return number(s.RecvCount) }},
			{"received_bytes_total", "bytes", "Payload bytes of the messages that were accepted.", func(s stats) float64 { return number(s.RecvLength) }},
			{"routed_messages_total", "messages", "Messages that this node forwarded as a router.", func(s stats) float64 { return number(s.RouteCount) }},
			{"routed_bytes_total", "bytes", "Payload bytes of the messages that were forwarded.", func(s stats) float64 { return number(s.RouteLength) }},
			{"dropped_messages_total", "messages", "Messages that arrived and were dropped.", func(s stats) float64 { return number(s.DropCount) }},
			{"dropped_bytes_total", "bytes", "Payload bytes of the messages that were dropped.", func(s stats) float64 { return number(s.DropLength) }},
			{"send_errors_total", "messages", "Sends that failed.", func(s stats) float64 { return number(s.Errors) }},
			{"send_refused_total", "messages", "Sends that failed because too many messages waited for discovery or a connection, or too many answers for a peer to read them.", func(s stats) float64 { return number(s.SendRefused) }},
			{"response_timeouts_total", "operations", "Operations whose ACK or REPLY did not come in time.", func(s stats) float64 { return number(s.ResponseTimeouts) }},
			{"resends_total", "messages", "Times that a message was sent again after a failure.", func(s stats) float64 { return number(s.ResendCount) }},
			{"resends_successful_total", "messages", "Messages that left after they were sent again.", func(s stats) float64 { return number(s.SuccessfulResends) }},
			{"resends_failed_total", "messages", "Messages that did not leave in any of their tries.", func(s stats) float64 { return number(s.FailedResends) }},
		}},
		&objects[uint64]{labels: []string{"reason"}, each: eachDrop, rows: []row[uint64]{
			{"drops_total", "messages", "Messages that arrived and were dropped, by reason.", count},
		}},
		&objects[uint64]{labels: []string{"class"}, each: func(s *state, yield func(uint64, ...string)) {
			eachFailure(&s.stats.FailureStats, func(class string, n uint64) { yield(n, class) })
		}, rows: []row[uint64]{
			{"failures_total", "failures", "Failures of messages, by the class that health distinguishes.", count},
		}},
		&objects[uint64]{labels: []string{"event"}, each: func(s *state, yield func(uint64, ...string)) {
			eachEvent(countersOf(s.status.Discovery), yield)
		}, rows: events("discovery_events_total", "What discovery did and refused, by the names of 'lnetctl stats show'.")},
		&objects[uint64]{labels: []string{"event"}, each: func(s *state, yield func(uint64, ...string)) {
			eachEvent(countersOf(s.status.Recovery.Stats), yield)
		}, rows: events("recovery_events_total", "Pings of NIs that are not well, and those that were left out.")},
		&objects[int]{labels: []string{"side"}, each: func(s *state, yield func(int, ...string)) {
			yield(len(s.status.Recovery.Local), "local")
			yield(len(s.status.Recovery.Peers), "peer")
		}, rows: []row[int]{
			{"recovering_interfaces", "interfaces", "NIs of this node (local) and of others (peer) that are pinged because they are not well.", number[int]},
		}},
		&objects[uint64]{each: func(s *state, yield func(uint64, ...string)) {
			if s.captured {
				yield(s.captureDropped)
			}
		}, rows: []row[uint64]{
			{"capture_dropped_packets_total", "packets", "Captured packets that viewers were too slow for.", count},
		}},
		&objects[uint64]{each: func(s *state, yield func(uint64, ...string)) {
			if s.guarded {
				yield(s.wrongTokens)
			}
		}, rows: []row[uint64]{
			{"capture_wrong_tokens_total", "requests", "Requests to the page for captures without the token of metrics_capture_token.", count},
		}},
	}
}

// eachDrop calls yield with the number of dropped messages for each reason, also if that number is 0.
func eachDrop(s *state, yield func(uint64, ...string)) {
	for _, r := range lnet.DropReasons() {
		yield(s.stats.DropReasons[r.String()], r.String())
	}
}

// eachFailure calls yield for each class of failures.
func eachFailure(f *lnet.FailureStats, yield func(class string, n uint64)) {
	yield("local_interrupt", f.LocalInterrupt)
	yield("local_dropped", f.LocalDropped)
	yield("local_aborted", f.LocalAborted)
	yield("local_no_route", f.LocalNoRoute)
	yield("local_timeout", f.LocalTimeout)
	yield("local_error", f.LocalError)
	yield("remote_dropped", f.RemoteDropped)
	yield("remote_error", f.RemoteError)
	yield("remote_timeout", f.RemoteTimeout)
	yield("network_timeout", f.NetworkTimeout)
}

// eachType calls yield for each type of messages.
func eachType(t *lnet.Traffic, yield func(of byType, typ string)) {
	of := func(c *lnet.TypeCounts) [5]uint64 { return [...]uint64{c.Put, c.Get, c.Reply, c.Ack, c.Hello} }
	sent, received, dropped := of(&t.Sent), of(&t.Received), of(&t.Dropped)
	for i, typ := range [...]string{"put", "get", "reply", "ack", "hello"} {
		yield(byType{sent[i], received[i], dropped[i]}, typ)
	}
}

// byType are the counters of messages of one type.
type byType struct{ sent, received, dropped uint64 }
