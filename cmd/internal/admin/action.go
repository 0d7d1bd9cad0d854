package admin

import (
	"context"
	"os"
	"time"

	"ulnet/cmd/internal/program"
)

// Action is a configured program that roots of requests can run.
type Action struct {
	Run     []string      // program and arguments
	Timeout time.Duration // time after which the action's processes are killed
	User    *program.User // user as which the program runs; nil: the daemon's user
}

// job is one run of an action.
type job struct {
	action Action
	limit  time.Duration // upper limit of the action's timeout; 0: none
	text   []byte        // standard input of the program
	root   string
	file   string // path of the file with the bulk data; "": there is none
	output int    // how many bytes at the end of the output are kept
}

// run runs an action. It kills all processes of the action's process group when the program has
// ended, after the timeout, or when ctx ends. An error means that the action did not start.
func (j *job) run(ctx context.Context) (Ran, error) {
	r := program.Run{
		Args: j.action.Run, User: j.action.User, Env: []string{"SCOLL_ROOT=" + j.root}, Input: j.text,
		Timeout: j.action.Timeout, Output: j.output,
	}
	if j.limit > 0 {
		r.Timeout = min(r.Timeout, j.limit)
	}
	closeFile, err := j.handOver(&r)
	if err != nil {
		return Ran{}, err
	}
	defer closeFile()
	result, err := r.Do(ctx)
	return Ran{Exit: result.Exit, TimeOver: result.TimeOver, Cut: result.Cut, Output: result.Output}, err
}

// fileOfUser is the path under which an action finds its bulk data if it runs as another user,
// which cannot enter the folder of the file. The action inherits the open file, as the first one
// after standard input, output and error.
const fileOfUser = "/proc/self/fd/3"

// handOver passes the file with bulk data to an action, which can use it until closeFile is
// called.
func (j *job) handOver(r *program.Run) (closeFile func(), err error) {
	u := j.action.User
	switch {
	case j.file == "":
		return func() {}, nil
	case u == nil:
		r.Env = append(r.Env, "SCOLL_FILE="+j.file)
		return func() {}, nil
	}
	f, err := os.Open(j.file)
	if err != nil {
		return nil, err
	}
	if err := f.Chown(int(u.UID), int(u.GID)); err != nil {
		_ = f.Close() // an error does not matter, because nothing was written
		return nil, err
	}
	r.Env, r.Files = append(r.Env, "SCOLL_FILE="+fileOfUser), []*os.File{f}
	return func() { _ = f.Close() }, nil
}
