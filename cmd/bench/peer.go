package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"time"

	"ulnet/lnd"
)

// The two ends of every measurement. Both LNet nodes listen on one port, as
// LNet wants it, so each has a loopback address of its own.
var (
	ownAddr  = netip.MustParseAddr("127.0.0.1")
	peerAddr = netip.MustParseAddr("127.0.0.2")
)

// greeting is what the other process says first on its standard output.
type greeting struct {
	Raw  netip.AddrPort // where its plain TCP server listens
	LNet uint16         // the accept port of its node
	Many uint16         // and of the one with many credits
}

// servePeer is the other process: a plain TCP server and an LNet node, and on
// its standard output the answer to each line of its standard input: "cpu", the
// CPU time that it has used, "mallocs", or "ib", which adds what o2iblnd is measured
// with and is answered by a port. It ends with its standard input, so it never outlives
// the process that started it.
func servePeer(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	l, err := net.Listen("tcp", netip.AddrPortFrom(peerAddr, 0).String())
	if err != nil {
		return err
	}
	defer l.Close()
	go serveRaw(l)

	n, err := newResponder(peerAddr, lnd.Tunables{})
	if err != nil {
		return err
	}
	defer n.close()
	go n.echoFromEQ(ctx)
	many, err := newResponder(peerAddr, manyCredits)
	if err != nil {
		return err
	}
	defer many.close()
	go many.echoFromEQ(ctx)

	answers := json.NewEncoder(stdout)
	raw := l.Addr().(*net.TCPAddr).AddrPort()
	if err := answers.Encode(greeting{Raw: raw, LNet: n.port, Many: many.port}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		figure := uint64(cpuTime())
		switch lines.Text() {
		case "mallocs":
			figure = ownMallocs()
		case "ib":
			peer, err := newIBPeer(ctx)
			if err != nil {
				return err
			}
			defer peer.close()
			figure = uint64(peer.floor.socket.local.Port())
		}
		if err := answers.Encode(figure); err != nil {
			return err
		}
	}
	return nil
}

// bench is this process's side of the measurements.
type bench struct {
	rounds int
	stderr io.Writer // of other processes
	raw    *rawClient
	node   *initiator
	flood  *flood
	ib     *ibPair // nil until it is needed

	cmd     *exec.Cmd
	stdin   io.WriteCloser
	answers *json.Decoder
}

func newBench(ctx context.Context, stderr io.Writer, rounds int) (b *bench, err error) {
	b = &bench{rounds: rounds, stderr: stderr}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	hello, err := b.startPeer(ctx, stderr)
	if err != nil {
		return b, fmt.Errorf("start the other process: %w", err)
	}
	if b.raw, err = dialRaw(ctx, hello.Raw); err != nil {
		return b, err
	}
	if b.node, err = newInitiator(ctx, ownAddr, peerAddr, hello.LNet, lnd.Tunables{}); err != nil {
		return b, err
	}
	many, err := newInitiator(ctx, ownAddr, peerAddr, hello.Many, manyCredits)
	if err != nil {
		return b, err
	}
	b.flood, err = newFlood(many)
	return b, err
}

func (b *bench) startPeer(ctx context.Context, stderr io.Writer) (hello greeting, err error) {
	if b.cmd, b.stdin, b.answers, err = startSelf(ctx, stderr, "peer"); err != nil {
		return hello, err
	}
	return hello, b.answers.Decode(&hello)
}

// startSelf starts this program with another command.
func startSelf(ctx context.Context, stderr io.Writer, command string) (*exec.Cmd, io.WriteCloser, *json.Decoder, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, command)
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	return cmd, in, json.NewDecoder(out), cmd.Start()
}

// close ends everything, the other process last.
func (b *bench) close() {
	if b.ib != nil {
		b.ib.close()
	}
	if b.flood != nil {
		b.flood.close()
	}
	if b.node != nil {
		b.node.close()
	}
	if b.raw != nil {
		b.raw.close()
	}
	if b.cmd != nil {
		b.stdin.Close()
		_ = b.cmd.Wait() // nothing depends on how it ends
	}
}

// cpu returns the CPU time that both processes have used.
func (b *bench) cpu() (time.Duration, error) {
	other, err := b.ask("cpu")
	return cpuTime() + time.Duration(other), err
}

// mallocs returns the number of heap objects that both have allocated.
func (b *bench) mallocs() (uint64, error) {
	other, err := b.ask("mallocs")
	return ownMallocs() + other, err
}

// ask asks the other process for a figure.
func (b *bench) ask(what string) (figure uint64, err error) {
	if _, err := io.WriteString(b.stdin, what+"\n"); err != nil {
		return 0, err
	}
	err = b.answers.Decode(&figure)
	return figure, err
}

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
