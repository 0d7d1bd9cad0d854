package metrics

import (
	"slices"

	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/node"
)

// rdmaTable has what 'lnetctl net show -v 4' shows of NIs on RDMA. Only devices of softroce have counters
// here; those of a hardware device are counted by its kernel driver.
func rdmaTable() []group {
	type verbs = *drivers.Verbs
	nid := []string{"nid"}
	device := func(word string) func(verbs) float64 {
		return func(v verbs) float64 { return number(v.Counters[word]) }
	}
	return []group{
		&objects[verbs]{labels: nid, each: func(s *state, yield func(verbs, ...string)) { eachVerbs(s, func(v verbs, id string) { yield(v, id) }) }, rows: []row[verbs]{
			{"rdma_pending_messages", "messages", "Messages that wait for a connection of the NI.", func(v verbs) float64 { return number(v.Pending) }},
			{"rdma_receive_buffers_free", "buffers", "Free receive buffers that all connections of the NI share.", func(v verbs) float64 { return number(v.Receives.Free) }},
			{"rdma_receive_buffers_empty_total", "packets", "Packets that found no free receive buffer.", func(v verbs) float64 { return number(v.Receives.Empty) }},
		}},
		&objects[verbs]{labels: nid, each: func(s *state, yield func(verbs, ...string)) {
			eachVerbs(s, func(v verbs, id string) {
				if v.Counters != nil {
					yield(v, id)
				}
			})
		}, rows: []row[verbs]{
			{"softroce_queue_pairs", "queue pairs", "Queue pairs of the device of the NI.", device("queue_pairs")},
			{"softroce_regions", "regions", "Registered memory regions of the device.", device("regions")},
			{"softroce_connections", "connections", "Connections in the connection manager of the device.", device("cm_connections")},
		}},
		&objects[uint64]{labels: []string{"nid", "event"}, each: func(s *state, yield func(uint64, ...string)) {
			eachVerbs(s, func(v verbs, id string) {
				eachEvent(v.Counters, func(n uint64, word ...string) {
					if !slices.Contains([]string{"queue_pairs", "regions", "cm_connections"}, word[0]) {
						yield(n, id, word[0])
					}
				})
			})
		}, rows: events("softroce_events_total", "Irregular packets and events of the device, for all NIs with its address together; an event appears when it occurs.")},
	}
}

// eachVerbs calls yield for each NI on RDMA.
func eachVerbs(s *state, yield func(v *drivers.Verbs, id string)) {
	eachNI(s, func(n *node.NIStatus, id string) {
		if n.LND.Verbs != nil {
			yield(n.LND.Verbs, id)
		}
	})
}
