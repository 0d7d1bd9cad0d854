package bugreport

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// tail returns the end of a file, and whether there is more before it.
func tail(path string) (text []byte, cut bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s is no regular file", path)
	}
	from := max(info.Size()-maxFile, 0)
	text, err = io.ReadAll(io.NewSectionReader(f, from, maxFile))
	return text, from > 0, err
}
