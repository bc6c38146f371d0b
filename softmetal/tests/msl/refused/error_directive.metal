#if __METAL_VERSION__ < 400
#error this needs Metal 4  // error: this needs Metal 4
#endif
