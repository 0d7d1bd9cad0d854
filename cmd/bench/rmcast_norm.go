package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"ulnet/cmd/bench/worker"
)

//go:embed testdata/norm_window.cpp
var normWindow []byte

// The group address and the ports that NORM uses.
const (
	normGroup = "239.78.0.1"
	normPort  = "6003"
)

// norm is the program that uses NORM. Goal G-RM-7 compares rmcast with it.
type norm struct{ *compiled }

func compileNORM(ctx context.Context) (norm, error) {
	c, err := recipe{
		tool: "g++", before: []string{"-O2"}, after: []string{"norm_window.cpp", "-lnorm"}, packages: "g++, libnorm-dev",
		source: "norm_window.cpp", text: normWindow,
	}.compile(ctx)
	return norm{c}, err
}

// stream sends messages from the first host to the others with processes of NORM. It returns how
// long it took until all receivers had acknowledged all messages.
func (n norm) stream(l *castLab, hosts, window int, o casterOrder) time.Duration {
	ctx, cancel := context.WithTimeout(l.ctx, 3*casterPatience)
	defer cancel()
	start := func(host int, args ...string) *worker.Process {
		return must(l.bench.start(ctx, worker.Config{Kind: "NORM", Program: n.path, Args: args, Within: l.hosts[host].Do}))
	}
	var receivers worker.Crew
	defer func() { receivers.Stop() }()
	for i := 1; i < hosts; i++ {
		receivers = append(receivers, start(i, "receive", "eth0", normGroup, normPort, strconv.Itoa(i+1)))
	}
	must(worker.ReadyAll[bool](receivers))
	const headers = 20 + 8 + 40 // bytes of the headers of IP and UDP, and about those of NORM's header; the rate of NORM includes headers
	sender := start(0, "send", "eth0", normGroup, normPort, strconv.Itoa(len(receivers)),
		strconv.Itoa(o.Count), strconv.Itoa(o.Bytes), strconv.Itoa(window), strconv.FormatFloat(o.Rate*8*float64(o.Bytes+headers), 'f', 0, 64))
	took, err := worker.Ready[time.Duration](sender)
	succeed(errors.Join(err, sender.Stop()))
	for i, objects := range must(worker.AskAll[int](receivers, "count", nil)) {
		if objects != o.Count+1 { // one more than the messages: the sender begins with an object that shows whether all receivers are there
			succeed(fmt.Errorf("NORM's receiver %d has %d of %d messages", i+1, objects, o.Count+1))
		}
	}
	return took
}
