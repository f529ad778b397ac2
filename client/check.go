package client

import "github.com/errand-acp/errand/internal/proc"

// Check returns an error of kind config if c and o could not be started whatever
// happens: it looks at everything that Start looks at before it starts anything,
// except for the directory where c has none yet, and at nothing that may change: the
// program is looked up by Start.
func Check(c Command, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	if c.Dir != "" {
		if _, err := CheckDir(c.Dir); err != nil {
			return err
		}
	}
	if err := c.Validate(); err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return err
	}
	_, _, _, err := scrub(nil, c)
	return err
}

// Undumpable keeps other processes of the same user from reading this one's
// environment and memory, where the system can do that (Linux); elsewhere it does
// nothing. Scrubbing keeps variables from being inherited; this keeps a child from
// looking them up in its parent. A program that delegates calls it once, early. It
// also switches core dumps off, and debuggers of the same user.
func Undumpable() error { return proc.Undumpable() }
