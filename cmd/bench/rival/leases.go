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

// Keeping is what processes of servers that keep clients, and of clients, are told first.
type Keeping struct {
	Servers  int
	Interval time.Duration // a client is heard of once in it
	TTL      time.Duration // after how long without it is given up
	Port     uint16        // of all servers, and another one
	Port2    uint16

	Index  int    // of a server
	Folder string // where it may write

	From, To int // the numbers of clients of a process
}

// Addrs are the addresses of the servers.
func (k Keeping) Addrs() (addrs []netip.Addr) {
	for i := range k.Servers {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 78, byte(i + 1)}))
	}
	return addrs
}

// ClientPrefix is before a client's number in its name.
const ClientPrefix = "client/"

// Death is that of a client, by the wall clock.
type Death struct {
	Client int
	At     time.Time
}

// Cost is what a process has used.
type Cost struct {
	CPU      time.Duration
	Counted  time.Duration // CPU again, when all was counted: that costs some, too
	Memory   int64         // resident
	Bytes    uint64        // sent on TCP
	Segments uint64
}

// Plus adds up processes.
func (c Cost) Plus(d Cost) Cost {
	return Cost{c.CPU + d.CPU, c.Counted + d.Counted, c.Memory + d.Memory, c.Bytes + d.Bytes, c.Segments + d.Segments}
}

// Server is the kind of worker that keeps clients. It tells of the Death of each client
// that it gives up; gone is told its name. "count" is answered by Cost.
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

// Clients is the kind of worker that is many clients. When it is ready it says how many;
// "kill" ends some, chosen at random, and says which. "count" is answered by Cost.
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

// startClients starts a process's clients, some at a time, and returns how to kill each.
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

// Count returns what this process has used.
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
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil { // a TCP socket
			c.Bytes += info.Bytes_sent
			c.Segments += uint64(info.Segs_out)
		}
	}
	c.Counted = cpuTime()
	return c, err
}
