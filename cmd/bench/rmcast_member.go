package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ulnet/scoll/rmcast"
	"ulnet/scoll/tree"
)

const casterUsage = "Be a member of a multicast group; bench starts itself so"

// casterSetup is what the process of a member is told first.
type casterSetup struct {
	Rank     int
	Addrs    []netip.Addr
	Port     uint16 // of LNet; plain datagrams go to the next one
	BusyPoll time.Duration
	Window   int
	Fragment int // payload of a datagram; 0: 4096
}

// casterOrder asks such a process for something.
type casterOrder struct {
	What  casterWork
	Bytes int

	// Of what is measured one at a time.
	Warm, Count int
	Look        time.Duration // plain sockets are looked at for so long before a wait

	// Of streams.
	Rate float64 // messages a second at most; 0: as fast as it goes

	Faults rmcast.Faults
}

// casterWork is what a member does.
type casterWork uint8

const (
	castUsage  casterWork = iota // tell what the process has used and received
	castForget                   // what was received so far
	castOurs                     // Count messages, each when all have the last
	castPlain                    // the same with plain sockets
	castStream                   // Count messages, as many in flight as the window takes
	castBlast                    // Count plain datagrams, which may be lost
	castFaults                   // discard a part of what arrives from now on
)

// casterAnswer is what it says.
type casterAnswer struct {
	Took     latencies
	Elapsed  time.Duration // of a stream, until all have all
	Usage    usage
	Received casterReceipts
	Plain    uint64 // datagrams of blasts
	Sent     uint64 // datagrams, each once
	Repairs  uint64 // payloads that were sent again
	Acks     uint64
	Connects uint64 // of this host so far, as it says
	Error    string
}

// casterTree is the tree of acknowledgements.
func casterTree(members int) tree.Tree { return tree.Tree{Topology: tree.KNomial(2), N: members} }

// serveCaster is the process of a member. It ends with its standard input, so it
// never outlives the process that started it.
func serveCaster(stdin io.Reader, stdout io.Writer) error {
	commands, answers := json.NewDecoder(stdin), json.NewEncoder(stdout)
	var setup casterSetup
	if err := commands.Decode(&setup); err != nil {
		return err
	}
	plain, err := newPlainCaster(setup)
	if err != nil {
		return err
	}
	defer plain.close()
	if err := answers.Encode(plain.tree.listener.Addr().(*net.TCPAddr).AddrPort()); err != nil {
		return err
	}
	var addrs []netip.AddrPort
	if err := commands.Decode(&addrs); err != nil {
		return err
	}
	if err := plain.connect(setup.Rank, addrs); err != nil {
		return err
	}
	ours, err := newCaster(setup)
	if err != nil {
		return err
	}
	defer ours.close()
	if err := ours.gather(len(setup.Addrs)); err != nil {
		return err
	}
	for err = answers.Encode(true); err == nil; {
		var o casterOrder
		if err = commands.Decode(&o); err == nil {
			err = answers.Encode(obey(o, ours, plain))
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func obey(o casterOrder, ours *caster, plain *plainCaster) (a casterAnswer) {
	var err error
	switch o.What {
	case castUsage:
		a = ours.report()
		a.Plain = plain.blasted.Load()
		a.Connects, err = activeOpens()
	case castForget:
		ours.receipts.forget()
		plain.blasted.Store(0)
	case castOurs:
		a.Took, err = ours.oneByOne(o)
	case castPlain:
		a.Took, err = plain.oneByOne(o)
	case castStream:
		a.Elapsed, err = ours.stream(o)
	case castFaults:
		ours.group.SetFaults(o.Faults)
	case castBlast:
		a.Elapsed, err = plain.blast(o)
	default:
		err = fmt.Errorf("no work %d", o.What)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// activeOpens is how often processes of this host have connected by TCP, as the system
// counts.
func activeOpens() (uint64, error) {
	b, err := os.ReadFile("/proc/self/net/snmp")
	if err != nil {
		return 0, err
	}
	var names []string
	for text := range strings.Lines(string(b)) {
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0 || fields[0] != "Tcp:":
		case names == nil:
			names = fields
		default:
			if i := slices.Index(names, "ActiveOpens"); i > 0 && i < len(fields) {
				return strconv.ParseUint(fields[i], 10, 64)
			}
		}
	}
	return 0, errors.New("the system does not say how often it connected")
}
