package proc

import (
	"context"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// family is the child and everything it has started: on Windows a job object. It
// ends with its last handle, ours, so that the job goes when this process goes.
// Nothing can leave the job, so there is nobody to sweep up. But for await, its
// methods are called by one goroutine at a time, the one that ends the child.
type family struct {
	proc   *os.Process
	job    windows.Handle
	exited <-chan struct{} // closed after await has returned
}

// canTerminate says that there is no SIGTERM rung: Windows has no such request that
// a process without a console or a window would hear.
const canTerminate = false

// spawn starts the child suspended and lets it run once it is in the job, so that
// nothing it starts can be outside.
func spawn(ctx context.Context, spec Spec, argv []string, stdio files) (_ *family, err error) {
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			windows.CloseHandle(job)
		}
	}()
	proc, err := startProcess(ctx, spec.Path, argv, &os.ProcAttr{
		Dir:   spec.Dir,
		Env:   spec.Env,
		Files: stdio,
		Sys: &syscall.SysProcAttr{
			CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW,
		},
	})
	if err != nil {
		return nil, err
	}
	handleErr := proc.WithHandle(func(h uintptr) {
		if err = windows.AssignProcessToJobObject(job, windows.Handle(h)); err != nil {
			err = os.NewSyscallError("AssignProcessToJobObject", err)
		} else if status, _, _ := ntResumeProcess.Call(h); status != 0 {
			err = os.NewSyscallError("NtResumeProcess", windows.NTStatus(status))
		}
	})
	if err == nil {
		err = handleErr
	}
	if err != nil {
		proc.Kill()
		proc.Wait()
		return nil, err
	}
	return &family{proc: proc, job: job}, nil
}

// os.StartProcess keeps the first thread's handle to itself; this resumes a process
// as a whole.
var ntResumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, os.NewSyscallError("CreateJobObject", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, os.NewSyscallError("SetInformationJobObject", err)
	}
	return job, nil
}

// await returns when the child has exited. It holds a thread.
func (f *family) await() Exit {
	state, err := f.proc.Wait()
	if err != nil {
		return Exit{Code: -1}
	}
	return Exit{Code: state.ExitCode()}
}

func (f *family) terminate() {}

func (f *family) kill() { windows.TerminateJobObject(f.job, 1) }

// gone reports whether the child has exited and nothing of its job is alive.
func (f *family) gone() bool {
	return isClosed(f.exited) && f.active() == 0
}

// active returns how many processes of the job are alive.
func (f *family) active() uint32 {
	var info struct { // JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
		TotalUserTime, TotalKernelTime            int64
		PeriodUserTime, PeriodKernelTime          int64
		PageFaults, Processes, Active, Terminated uint32
	}
	windows.QueryInformationJobObject(f.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return info.Active
}

func (f *family) track() {}

// sweep only says that somebody is left in the job.
func (f *family) sweep(time.Time) []Leftover {
	if f.gone() {
		return nil
	}
	return []Leftover{{PID: f.proc.Pid, Ours: true, Reason: "its job is still there after it was terminated"}}
}

func (f *family) release() { windows.CloseHandle(f.job) }

// closeOnExec has nothing to do: only the handles named to it reach a child.
func closeOnExec() {}

// Undumpable does nothing here; see the one for Linux.
func Undumpable() error { return nil }
