x=1
def share_block(): pass
