package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A child says one saying per line, and does what its standard input says: count
// its counters, kill some of its clients. It ends with its standard input.

// child is a process of servers or clients.
type child struct {
	*leaseOptions
	mu  sync.Mutex
	out *json.Encoder // guarded by mu

	clients map[int]func() // how to kill each; used by the main goroutine
}

func (c *child) say(s saying) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(s) // a parent that is gone does not listen
}

// gone says that this server has given up a client.
func (c *child) gone(name string) {
	at := time.Now().UnixNano()
	if client, err := strconv.Atoi(strings.TrimPrefix(name, clientPrefix)); err == nil {
		c.say(saying{Gone: &death{client, at}})
	}
}

// clientPrefix is before a client's number in its name.
const clientPrefix = "client/"

func (o *leaseOptions) beChild() error {
	c := &child{leaseOptions: o, out: json.NewEncoder(os.Stdout)}
	ready, err := c.begin()
	if err != nil {
		c.say(saying{Error: err.Error()})
		return err
	}
	c.say(saying{Ready: ready})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var n int
		if in.Text() == "count" {
			f := count()
			c.say(saying{Counts: &f})
		} else if _, err := fmt.Sscanf(in.Text(), "kill %d", &n); err == nil {
			c.say(saying{Killed: c.kill(n)})
		} else {
			c.say(saying{Error: "what is " + in.Text()})
		}
	}
	return nil
}

// begin begins what this process is for, and returns the number of its clients.
func (c *child) begin() (ready int, err error) {
	switch c.systems[0] + " " + c.as {
	case "health server":
		return 1, c.serveHealth()
	case "etcd server":
		return 1, c.serveEtcd()
	case "health clients":
		c.clients, err = c.startClients(c.healthClient())
	case "etcd clients":
		c.clients, err = c.startClients(c.etcdClient)
	default:
		err = errors.New("no such process: " + c.as)
	}
	return len(c.clients), err
}

// startClients starts this process's clients, some at a time, and returns how to
// kill each.
func (c *child) startClients(start func(i int) (kill func(), err error)) (map[int]func(), error) {
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
	for i := c.from; i < c.to; i++ {
		numbers <- i
	}
	close(numbers)
	all.Wait()
	return kills, failed
}

// kill has n clients die, chosen at random.
func (c *child) kill(n int) (dead []death) {
	var living []int
	for i := range c.clients {
		living = append(living, i)
	}
	rand.Shuffle(len(living), func(i, k int) { living[i], living[k] = living[k], living[i] })
	for _, i := range living[:min(n, len(living))] {
		dead = append(dead, death{i, time.Now().UnixNano()})
		c.clients[i]()
		delete(c.clients, i)
	}
	return dead
}

// cpuTime is the CPU time of this process.
func cpuTime() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use) // cannot fail with these arguments
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// count returns this process's counters.
func count() (f figures) {
	f.CPU = cpuTime()
	defer func() { f.Counted = cpuTime() }()
	debug.FreeOSMemory()
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		pages, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
		f.Memory = pages * int64(os.Getpagesize())
	}
	descriptors, _ := os.ReadDir("/proc/self/fd")
	for _, d := range descriptors {
		fd, _ := strconv.Atoi(d.Name())
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil { // a TCP socket
			f.Bytes += info.Bytes_sent
			f.Segments += uint64(info.Segs_out)
		}
	}
	return f
}

// serverAddrs are the addresses of the servers.
func (o *leaseOptions) serverAddrs() (addrs []netip.Addr) {
	for i := range o.servers {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 78, byte(i + 1)}))
	}
	return addrs
}
