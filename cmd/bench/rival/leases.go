package rival

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ulnet/cmd/bench/worker"
)

// Keeping contains the parameters of a process in a system that detects the death of clients.
// The process runs a server, or clients.
type Keeping struct {
	Servers  int           // number of servers; each is a process
	Interval time.Duration // time between two messages of a client
	TTL      time.Duration // silence after which a server gives up a client
	Port     uint16        // port of every server; of etcd, the one for clients
	Port2    uint16        // another port of every server; etcd uses it between servers

	Index  int    // index of the server that this process runs
	Folder string // temporary directory of this process

	From, To int // this process runs the clients with numbers from From to To-1
}

// Addrs returns the addresses of the servers.
func (k Keeping) Addrs() (addrs []netip.Addr) {
	for i := range k.Servers {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 78, byte(i + 1)}))
	}
	return addrs
}

// ClientPrefix is the part of the name of a client in front of its number.
const ClientPrefix = "client/"

// Death is the death of a client, or its detection by a server.
type Death struct {
	Client int       // number of the client
	At     time.Time // time of the death, by the wall clock
}

// Cost contains the resources that a process has used so far.
type Cost struct {
	CPU      time.Duration // CPU time until Count began
	Counted  time.Duration // CPU time until Count ended, which also includes the time that Count took
	Memory   int64         // resident memory in bytes
	Bytes    uint64        // bytes sent over the TCP connections that are open
	Segments uint64        // segments sent over the TCP connections that are open
}

// Plus returns the sum of two costs.
func (c Cost) Plus(d Cost) Cost {
	return Cost{c.CPU + d.CPU, c.Counted + d.Counted, c.Memory + d.Memory, c.Bytes + d.Bytes, c.Segments + d.Segments}
}

// Server returns the kind of worker that runs a server. The server calls gone with the name of
// each client that it gives up, and the worker reports this as an event of type Death. The worker
// answers the command "count" of its parent with a Cost.
func Server(system string, start func(k Keeping, gone func(name string)) error) worker.Kind {
	return worker.Of(system, func(w *worker.Worker, k Keeping) (int, error) {
		worker.Order(w, "count", Count)
		return 1, start(k, func(name string) {
			at := time.Now()
			if client, err := strconv.Atoi(strings.TrimPrefix(name, ClientPrefix)); err == nil {
				w.Tell(Death{client, at})
			}
		})
	})
}

// Clients returns the kind of worker that runs many clients. When all are connected, the worker
// returns their number. The command "kill" has a number: the worker kills that many clients, chosen
// at random, and returns their deaths. The command "count" returns a Cost.
func Clients(system string, begin func(k Keeping) func(i int) (kill func(), err error)) worker.Kind {
	return worker.Of(system, func(w *worker.Worker, k Keeping) (int, error) {
		kills, err := startClients(k, begin(k))
		worker.Order(w, "count", Count)
		worker.Order(w, "kill", func(n int) (dead []Death, err error) {
			living := make([]int, 0, len(kills))
			for i := range kills {
				living = append(living, i)
			}
			rand.Shuffle(len(living), func(i, k int) { living[i], living[k] = living[k], living[i] })
			for _, i := range living[:min(n, len(living))] {
				dead = append(dead, Death{i, time.Now()})
				kills[i]()
				delete(kills, i)
			}
			if len(dead) != n {
				err = fmt.Errorf("%d of %d clients die", len(dead), n)
			}
			return dead, err
		})
		return len(kills), err
	})
}

// startClients starts the clients of a process, 64 at a time, and returns for each client a
// function that kills it.
func startClients(k Keeping, start func(i int) (kill func(), err error)) (map[int]func(), error) {
	const together = 64
	numbers := make(chan int)
	kills := make(map[int]func())
	var mu sync.Mutex // guards kills and failed
	var failed error
	var all sync.WaitGroup
	for range together {
		all.Go(func() {
			for i := range numbers {
				kill, err := start(i)
				mu.Lock()
				kills[i], failed = kill, errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	for i := k.From; i < k.To; i++ {
		numbers <- i
	}
	close(numbers)
	all.Wait()
	return kills, failed
}

// Count returns the cost of this process.
func Count(struct{}) (c Cost, err error) {
	c.CPU = cpuTime()
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return c, err
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	c.Memory = pages * int64(os.Getpagesize())
	descriptors, err := os.ReadDir("/proc/self/fd")
	for _, d := range descriptors {
		fd, _ := strconv.Atoi(d.Name())
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil { // this succeeds only if fd is a TCP socket
			c.Bytes += info.Bytes_sent
			c.Segments += uint64(info.Segs_out)
		}
	}
	c.Counted = cpuTime()
	return c, err
}
