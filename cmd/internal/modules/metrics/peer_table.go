package metrics

// peerTable has what 'lnetctl peer show -v' shows of each NID of other nodes. The counters are
// those of all types of messages together, so that an answer with a thousand peers stays below
// 1 MiB; ni_sent_messages_total has the types.
func peerTable() []group {
	type p = *peer
	nid := []string{"nid"}
	return []group{
		&objects[*peerSet]{each: func(s *state, yield func(*peerSet, ...string)) { yield(s.peers) }, rows: []row[*peerSet]{
			{"peers", "peers", "NIDs of other nodes that this node knows, a NID above the limit once for each NI of this node.", func(s *peerSet) float64 { return number(s.count) }},
			{"peers_labelled", "peers", "NIDs of other nodes with metrics of their own; all further ones are summed up under nid=\"other\".", func(s *peerSet) float64 { return number(len(s.own)) }},
		}},
		&objects[p]{labels: nid, each: func(s *state, yield func(p, ...string)) { s.peers.each(true, yield) }, rows: []row[p]{
			{"peer_sent_messages_total", "messages", "Messages that left for the peer.", func(p p) float64 { return number(p.sent) }},
			{"peer_received_messages_total", "messages", "Messages of the peer that were accepted.", func(p p) float64 { return number(p.received) }},
			{"peer_dropped_messages_total", "messages", "Messages of the peer that were dropped.", func(p p) float64 { return number(p.dropped) }},
			{"peer_sent_bytes_total", "bytes", "Payload bytes of the messages that left for the peer.", func(p p) float64 { return number(p.sentBytes) }},
			{"peer_received_bytes_total", "bytes", "Payload bytes of the messages of the peer that were accepted.", func(p p) float64 { return number(p.receivedBytes) }},
			{"peer_dropped_bytes_total", "bytes", "Payload bytes of the messages of the peer that were dropped.", func(p p) float64 { return number(p.droppedBytes) }},
			{"peer_failures_total", "failures", "Failures of messages of which the class blames the peer or the network.", func(p p) float64 { return number(p.failures) }},
			{"peer_queued_messages", "messages", "Messages to the peer that wait for a credit or for discovery.", func(p p) float64 { return number(p.queued) }},
			{"peer_queued_bytes", "bytes", "Headers and payload of the messages to the peer that have a credit.", func(p p) float64 { return number(p.queuedBytes) }},
		}},
		&objects[p]{labels: nid, each: func(s *state, yield func(p, ...string)) { s.peers.each(false, yield) }, rows: []row[p]{
			{"peer_up", "ratio", "1: the peer is connected; 0: it is not, or not known to be.", func(p p) float64 { return oneIf(p.up) }},
			{"peer_health_ratio", "ratio", "Health of the NID, from 0 to 1; LNet's tools show it from 0 to 1000.", func(p p) float64 { return number(p.health) / maxHealth }},
			{"peer_credits", "messages", "Free credits of the peer; a negative number: so many messages wait for one.", func(p p) float64 { return number(p.credits) }},
			{"peer_credits_min", "messages", "Lowest number of free credits so far.", func(p p) float64 { return number(p.creditsMin) }},
			{"peer_credits_max", "messages", "Messages that may be in flight to the peer (the tunable peer_credits).", func(p p) float64 { return number(p.creditsMax) }},
		}},
	}
}

// each yields every peer that has a label, and its label. If all is set and there has been a peer
// without a label, it then yields the sum of all such peers, with the label other.
func (s *peerSet) each(all bool, yield func(*peer, ...string)) {
	for _, id := range s.order {
		yield(s.own[id], s.own[id].label)
	}
	if all && s.more {
		yield(&s.rest, other)
	}
}
