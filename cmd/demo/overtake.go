package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
	"ulnet/portals"
	localnode "ulnet/portals/node"
)

// A priority message races against bulk data: bulkPuts PUTs of 1 MiB are in flight to a node
// when the priority PUT is sent. The match bits of a bulk PUT are its number.
const (
	bulkPuts     = 64
	racePortal   = 23
	bulkBits     = 0x100
	priorityBits = 0x1ff
)

var raceTo = []string{"--portal", strconv.Itoa(racePortal), "--match-bits", "0x100", "--ignore-bits", "0xff"}

// overtake sends the bulk data and then the priority message from this process, with the packages
// that any Go program can use. It returns how many bulk PUTs the priority message has overtaken.
func (l *lab) overtake(ctx context.Context, from, to *node) (string, error) {
	sink, err := l.background(ctx, to, slices.Concat(
		[]string{"msg", "sink", "--json", "--size", strconv.Itoa(size), "--count", strconv.Itoa(bulkPuts + 1)}, raceTo)...)
	if err != nil {
		return "", err
	}
	defer sink.stop()
	sender, err := startSender(from.nid, l.port)
	if err != nil {
		return "", err
	}
	defer sender.Close(ctx)
	if err := sendRace(ctx, sender.Table(), to.nid); err != nil {
		return "", err
	}
	if err := sink.wait(); err != nil {
		return "", err
	}
	return overtaken(sink.said.Bytes())
}

// startSender starts a node that only opens connections and accepts none.
func startSender(id string, port uint16) (*localnode.Node, error) {
	self, err := nid.Parse(id)
	if err != nil {
		return nil, err
	}
	on := networks.Interface{Net: self.Net(), Name: self.Addr().String()}
	return localnode.Start(localnode.Config{Networks: on.String(), AcceptPort: port, DialOnly: true})
}

// sendRace sends the first bulk PUT and, once all connections are there, the other bulk PUTs and
// the priority message. Put does not block, and all PUTs are prepared in advance, so sending
// them takes only a few milliseconds.
func sendRace(ctx context.Context, table *portals.Table, to string) error {
	target, err := nid.Parse(to)
	if err != nil {
		return err
	}
	acked := make(chan error, 1)
	r := racer{table: table, target: nid.ProcessID{NID: target, PID: nid.LustrePID}}
	data := make([]byte, size)
	r.add(data, 0, bulkBits, func(e *portals.Event) {
		if e.Kind == portals.EventAck || e.Err != nil {
			acked <- e.Err
		}
	})
	for i := range uint64(bulkPuts - 1) {
		r.add(data, 0, bulkBits+1+i, nil)
	}
	r.add(data[:8], portals.Priority, priorityBits, nil)
	r.put(1)
	if r.err == nil {
		r.err = connected(ctx, table, acked)
	}
	r.put(bulkPuts)
	return r.err
}

// racer prepares PUTs and sends them later, without delay.
type racer struct {
	table  *portals.Table
	target nid.ProcessID
	puts   []portals.PutRequest
	err    error // the first error of a PUT
}

// add prepares a PUT. If there is a handler, the PUT asks for an ACK.
func (r *racer) add(data []byte, options portals.MDOption, bits uint64, handler func(*portals.Event)) {
	md, err := r.table.MDBind(portals.MD{
		Segments: []lnd.Segment{data}, Threshold: 2, Options: options, Handler: handler,
	}, portals.Unlink)
	if r.err == nil {
		r.err = err
	}
	r.puts = append(r.puts, portals.PutRequest{
		MD: md, Ack: handler != nil, Target: r.target, Portal: racePortal, MatchBits: bits,
	})
}

// put sends the next n prepared PUTs.
func (r *racer) put(n int) {
	for i := 0; i < n && r.err == nil; i++ {
		r.err = r.table.Put(r.puts[i])
	}
	r.puts = r.puts[n:]
}

// connected waits for the ACK of the first PUT and, on TCP, for all three connections to the
// peer, because then bulk data has a connection of its own.
func connected(ctx context.Context, table *portals.Table, acked chan error) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for waiting := true; ; {
		if !waiting && allConns(table.Node().NIs()[0].Lower()) {
			return nil
		}
		select {
		case err := <-acked:
			if err != nil {
				return err
			}
			waiting = false
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// allConns reports whether the only peer has all its connections.
func allConns(ni lnd.NI) bool {
	tcp, ok := ni.(*socklnd.NI)
	if !ok {
		return true // o2iblnd has one connection, on which messages with priority overtake others
	}
	peers := tcp.Snapshot().Peers
	return len(peers) == 1 && len(peers[0].Conns) == 3
}

// overtaken counts the bulk events that come after the event of the priority message in the
// output of lnetctl sink.
func overtaken(said []byte) (string, error) {
	var order []string
	for lines := json.NewDecoder(bytes.NewReader(said)); lines.More(); {
		var e struct {
			MatchBits string `json:"match_bits"`
		}
		if err := lines.Decode(&e); err != nil {
			return "", fmt.Errorf("the sink's events: %w", err)
		}
		order = append(order, e.MatchBits)
	}
	at := slices.Index(order, fmt.Sprintf("%#x", priorityBits))
	if at < 0 || len(order) != bulkPuts+1 {
		return "", fmt.Errorf("of %d messages %d arrived, the priority message as number %d", bulkPuts+1, len(order), at+1)
	}
	return fmt.Sprintf("overtook %d of %d PUTs of 1 MiB", bulkPuts-at, bulkPuts), nil
}
