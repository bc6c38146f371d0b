kernel void f(device uint* id [[thread_position_in_grid]]) {}  // error: parameter 'id' with attribute [[thread_position_in_grid]] must be a value, not 'device uint*'
