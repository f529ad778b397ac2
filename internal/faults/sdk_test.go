package faults

func sdkHook() {}
